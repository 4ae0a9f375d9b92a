#include "lowtide/formats/registry.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "lowtide/formats/npy/npy.h"
#include "lowtide/formats/tokens/fields.h"
#include "lowtide/formats/tokens/litpkds.h"
#include "lowtide/formats/tokens/llmc.h"
#include "lowtide/formats/tokens/megatron.h"

namespace lowtide {
namespace {

using namespace std::string_view_literals;
using Head = std::span<const std::byte>;

bool is_hdf5(Head head) { return tokens::starts_with(head, "\x89HDF\r\n\x1a\n"sv); }
bool is_zip(Head head) { return tokens::starts_with(head, "PK\x03\x04"sv); }
bool is_parquet(Head head) { return tokens::starts_with(head, "PAR1"sv); }

constexpr std::array zarr_files = {"zarr.json"sv, ".zarray"sv, ".zgroup"sv};

// The first that recognises a file has it.
constexpr std::array formats = {
    Format{.name = "npy",
           .title = "npy",
           .sniff = npy::sniff,
           .header_bytes = npy::header_bytes,
           .parse = npy::parse,
           .write_header = npy::write_header,
           .writes = true},
    Format{.name = "llm.c", .title = "llm.c", .sniff = llmc::sniff, .parse = llmc::parse},
    Format{.name = "litpkds", .title = "LITPKDS", .sniff = litpkds::sniff, .parse = litpkds::parse},
    Format{.name = "megatron",
           .title = "Megatron's index",
           .sniff = megatron::sniff,
           .is_array = false,
           .instead = "the tokens are in the .bin beside it"},
    Format{.name = "raw", .title = "raw", .writes = true},
    Format{.name = "hdf5",
           .title = "HDF5",
           .sniff = is_hdf5,
           .has_keys = true,
           .instead = "np.save(\"x.npy\", h5py.File(path)[key]) makes one of it that fits in memory"},
    Format{.name = "npz",
           .title = "npz (zip)",
           .sniff = is_zip,
           .has_keys = true,
           .instead = "np.save(\"x.npy\", np.load(path)[key]) makes one of it that fits in memory"},
    Format{.name = "parquet", .title = "Parquet", .sniff = is_parquet, .instead = "save its columns as .npy"},
    Format{.name = "zarr",
           .title = "Zarr",
           .marker_files = zarr_files,
           .has_keys = true,
           .instead = "np.save(\"x.npy\", zarr.open(path)[:]) makes one of it that fits in memory"},
};

std::string listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", names[i]);
  }
  return text;
}

}  // namespace

std::span<const Format> all_formats() { return formats; }

const Format* sniff_format(std::span<const std::byte> head) {
  for (const Format& format : formats) {
    if (format.sniff != nullptr && format.sniff(head)) return &format;
  }
  return nullptr;
}

const Format* format_named(std::string_view name) {
  for (const Format& format : formats) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

std::string formats_opened() {
  std::vector<std::string_view> names;
  for (const Format& format : formats) {
    if (format.parse != nullptr || format.writes) names.push_back(format.name);
  }
  return listed(names);
}

std::string formats_written() {
  std::vector<std::string_view> names;
  for (const Format& format : formats) {
    if (format.writes) names.push_back(format.name);
  }
  return listed(names);
}

}  // namespace lowtide
