#include "lowtide/formats/registry.h"

#include <gtest/gtest.h>

#include <set>

namespace lowtide {
namespace {

std::string_view found(std::string_view text) {
  const Format* format = sniff_format(std::as_bytes(std::span(text.data(), text.size())));
  return format == nullptr ? "" : format->name;
}

TEST(Registry, TellsAFormatByItsFirstBytes) {
  using namespace std::string_view_literals;
  EXPECT_EQ(found("\x93NUMPY\x01\x00"sv), "npy");
  EXPECT_EQ(found("LITPKDS\x01"sv), "litpkds");
  EXPECT_EQ(found("MMIDIDX\x00\x00"sv), "megatron");
  EXPECT_EQ(found("\x89HDF\r\n\x1a\n\x00"sv), "hdf5");
  EXPECT_EQ(found("PK\x03\x04 and more"sv), "npz");
  EXPECT_EQ(found("PAR1"sv), "parquet");
  EXPECT_EQ(found("1,2,3\n"sv), "");
  EXPECT_EQ(found(""), "");
}

TEST(Registry, HasEveryFormatOnceAndAnswersForEach) {
  std::set<std::string_view> names;
  for (const Format& format : all_formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_EQ(format_named(format.name), &format);
    // Opened, written without a header, or able to say what to do instead.
    EXPECT_TRUE(format.parse != nullptr || format.writes || !format.instead.empty()) << format.name;
    EXPECT_TRUE(format.sniff != nullptr || !format.marker_files.empty() || format.name == "raw") << format.name;
  }
  EXPECT_EQ(format_named("tiff"), nullptr);
}

TEST(Registry, SaysWhatThereIs) {
  EXPECT_EQ(formats_opened(), "npy, llm.c, litpkds and raw");
  EXPECT_EQ(formats_written(), "npy and raw");
}

}  // namespace
}  // namespace lowtide
