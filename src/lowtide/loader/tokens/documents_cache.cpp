#include "lowtide/loader/tokens/documents_cache.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <span>
#include <system_error>
#include <vector>

#include "lowtide/error.h"
#include "lowtide/kernels/crc32c.h"
#include "lowtide/loader/fingerprint.h"
#include "lowtide/writer.h"

namespace lowtide {
namespace {

constexpr std::uint64_t magic = 0x31534F4454574F4Cu;  // "LOWTDOS1"
constexpr std::size_t head_words = 8;
constexpr std::uint64_t least_cached_bytes = 1 << 20;  // less is scanned in no time
using Head = std::array<std::uint64_t, head_words>;

std::uint64_t crc_of(std::span<const std::uint64_t> words) {
  return crc32c(reinterpret_cast<const std::byte*>(words.data()), words.size_bytes());
}

// All that has to agree, but for the number of documents and their checksum.
Head head_of(const TokenStream& stream, std::uint64_t eot) {
  std::vector<std::shared_ptr<io::File>> files;
  for (const Shard& shard : stream.shards()) files.push_back(shard.file);
  const DataFingerprint data = fingerprint(files);
  const std::string text = fmt::format("{} {} {} {} {}", data.file_count, data.bytes, data.marks, name(stream.dtype()),
                                       static_cast<int>(stream.endian()));
  const std::uint64_t mark = crc32c(reinterpret_cast<const std::byte*>(text.data()), text.size());
  return {magic, 1, eot, stream.size(), 0, mark, 0, 0};
}

std::optional<Documents> load(const std::string& path, const Head& expected, const TokenStream& stream) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return std::nullopt;
  try {
    const Array array = open(path);
    const auto words = static_cast<std::uint64_t>(array.size());
    if (array.dtype() != DType::uint64 || array.ndim() != 1 || words < head_words) return std::nullopt;
    const Buffer buffer = array.read();
    const std::span<const std::uint64_t> all = buffer.as<std::uint64_t>();
    Head head = expected;
    head[4] = words - head_words;
    head[6] = crc_of(all.subspan(head_words));
    if (!std::equal(head.begin(), head.end(), all.begin())) return std::nullopt;
    return Documents::from_starts(all.subspan(head_words), stream.size());
  } catch (const Error&) {
    return std::nullopt;  // a scan needs less memory than two copies
  }
}

// What cannot be kept (a folder that is not ours, a full disk) is found again next time.
void keep(const std::string& path, Head head, const Documents& documents) noexcept {
  try {
    const std::span<const std::uint64_t> starts = documents.starts(0, UINT64_MAX);
    head[4] = starts.size();
    head[6] = crc_of(starts);
    Writer writer = create(path, {.shape = {0}, .dtype = DType::uint64, .format = "npy", .overwrite = true});
    writer.append(ConstView::of(std::span<const std::uint64_t>(head)));
    writer.append(ConstView::of(starts));
    writer.close();
  } catch (...) {
    return;
  }
}

}  // namespace

std::string documents_cache_path(const TokenStream& stream, std::uint64_t eot) {
  return fmt::format("{}.documents-{}.npy", stream.shards().front().file->path(), eot);
}

Documents cached_documents(const TokenStream& stream, std::uint64_t eot) {
  if (stream.size() * itemsize(stream.dtype()) < least_cached_bytes) return Documents::from_eot(stream, eot);
  const std::string path = documents_cache_path(stream, eot);
  const Head head = head_of(stream, eot);
  if (std::optional<Documents> found = load(path, head, stream)) return *std::move(found);
  Documents documents = Documents::from_eot(stream, eot);
  keep(path, head, documents);
  return documents;
}

}  // namespace lowtide
