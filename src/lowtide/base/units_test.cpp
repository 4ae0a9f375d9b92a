#include "lowtide/base/units.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

namespace lowtide {
namespace {

std::uint64_t parsed(std::string_view text) { return parse_bytes_with(text, 1000); }

std::string refusal(std::string_view text) {
  try {
    const auto bytes = parsed(text);
    return "accepted as " + std::to_string(bytes);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
}

TEST(Units, LiteralsArePowersOf1024) { static_assert(1_KiB == 1024 && 3_MiB == 3145728 && 2_GiB == 2147483648); }

TEST(Units, FormatUsesTheLargestUnitWithAtMostOneDecimal) {
  EXPECT_EQ(format_bytes(0), "0 bytes");
  EXPECT_EQ(format_bytes(1), "1 byte");
  EXPECT_EQ(format_bytes(12), "12 bytes");
  EXPECT_EQ(format_bytes(1023), "1023 bytes");
  EXPECT_EQ(format_bytes(640_KiB), "640 KiB");
  EXPECT_EQ(format_bytes(1536_MiB), "1.5 GiB");
  EXPECT_EQ(format_bytes(std::numeric_limits<std::uint64_t>::max()), "16 EiB");
}

TEST(Units, FormatNeverSays1024OfAUnit) { EXPECT_EQ(format_bytes(1_GiB - 1), "1 GiB"); }

TEST(Units, ParseReadsPlainBytes) {
  EXPECT_EQ(parsed("0"), 0u);
  EXPECT_EQ(parsed("1073741824"), 1_GiB);
  EXPECT_EQ(parsed("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parsed("12 bytes"), 12u);
  EXPECT_EQ(parsed("12B"), 12u);
}

TEST(Units, ParseReadsBinaryAndDecimalUnits) {
  EXPECT_EQ(parsed("512MiB"), 512_MiB);
  EXPECT_EQ(parsed("2GiB"), 2_GiB);
  EXPECT_EQ(parsed("2 GB"), 2'000'000'000u);
  EXPECT_EQ(parsed("2TB"), 2'000'000'000'000u);
  EXPECT_EQ(parsed("64KiB"), 64_KiB);
}

TEST(Units, ParseReadsSizesAsKubernetesAndDockerWriteThem) {
  EXPECT_EQ(parsed("512Mi"), 512_MiB);
  EXPECT_EQ(parsed("1.5Gi"), 1536_MiB);
  EXPECT_EQ(parsed("64Ki"), 64_KiB);
  EXPECT_EQ(parsed("1G"), 1'000'000'000u);
  EXPECT_EQ(parsed("128974848"), 128'974'848u);
  EXPECT_EQ(parsed("129M"), 129'000'000u);
  EXPECT_LT(parsed("512m"), 512_MiB);  // Docker's is larger: a budget of 512m fits a container of 512m
}

TEST(Units, ParseIgnoresCaseAndSurroundingSpace) {
  EXPECT_EQ(parsed(" 2 gib "), 2_GiB);
  EXPECT_EQ(parsed("2gb"), 2'000'000'000u);
}

TEST(Units, ParseReadsFractionsExactlyAndRoundsDown) {
  EXPECT_EQ(parsed("1.5GiB"), 1536_MiB);
  EXPECT_EQ(parsed("0.3GB"), 300'000'000u);
  EXPECT_EQ(parsed("0.1KiB"), 102u);
  EXPECT_EQ(parsed("0.3333333333333333333333333333GB"), 333'333'333u);
}

TEST(Units, ParseReadsAPercentageOfWhatIsAvailable) {
  EXPECT_EQ(parsed("25%"), 250u);
  EXPECT_EQ(parsed("12.5 %"), 125u);
  EXPECT_EQ(parsed("100%"), 1000u);
  EXPECT_EQ(parse_bytes_with("100%", std::numeric_limits<std::uint64_t>::max()),
            std::numeric_limits<std::uint64_t>::max());
}

TEST(Units, RefusalSaysWhyAndShowsWhatToType) {
  EXPECT_EQ(refusal(""),
            "\"\" is not a size in bytes: it is empty. Type for example \"512MiB\", \"1.5Gi\", \"2GB\" (10^9), \"25%\" "
            "or \"1073741824\".");
}

TEST(Units, ParseRefusesWhatIsNotASize) {
  EXPECT_NE(refusal("   ").find("empty"), std::string::npos);
  EXPECT_NE(refusal("-1GiB").find("negative"), std::string::npos);
  EXPECT_NE(refusal("nan").find("does not begin with a number"), std::string::npos);
  EXPECT_NE(refusal("GiB").find("does not begin with a number"), std::string::npos);
  EXPECT_NE(refusal(".5GiB").find("does not begin with a number"), std::string::npos);
  EXPECT_NE(refusal("1.GiB").find("no digit"), std::string::npos);
  EXPECT_NE(refusal("2X").find("unknown unit \"X\""), std::string::npos);
  EXPECT_NE(refusal("1e9").find("unknown unit \"e9\""), std::string::npos);
  EXPECT_NE(refusal("1.2.3GiB").find("unknown unit"), std::string::npos);
  EXPECT_NE(refusal("1.5").find("fraction of a byte"), std::string::npos);
  EXPECT_NE(refusal("101%").find("more than 100%"), std::string::npos);
  EXPECT_NE(refusal("100.001%").find("more than 100%"), std::string::npos);
}

TEST(Units, ParseRefusesWhatOverflows64Bits) {
  EXPECT_NE(refusal("18446744073709551616").find("larger than 2^64"), std::string::npos);
  EXPECT_NE(refusal("16384PiB").find("larger than 2^64"), std::string::npos);
  EXPECT_NE(refusal("99999999999999999999999GiB").find("larger than 2^64"), std::string::npos);
}

TEST(Units, RefusalOfALongTextStaysShort) { EXPECT_LT(refusal(std::string(100'000, 'x')).size(), 300u); }

}  // namespace
}  // namespace lowtide
