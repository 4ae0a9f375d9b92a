#include "lowtide/base/quote.h"

#include <gtest/gtest.h>

namespace lowtide {
namespace {

TEST(Quote, PrintableTextIsKept) { EXPECT_EQ(in_quotes("<f4 it's"), "\"<f4 it's\""); }

TEST(Quote, OtherBytesAreWrittenAsHex) { EXPECT_EQ(in_quotes("a\xff\n"), "\"a\\xff\\x0a\""); }

TEST(Quote, LongTextIsCut) {
  EXPECT_EQ(in_quotes(std::string(40, 'x')), '"' + std::string(40, 'x') + '"');
  EXPECT_EQ(in_quotes(std::string(41, 'x')), '"' + std::string(40, 'x') + "...\"");
}

}  // namespace
}  // namespace lowtide
