#include "lowtide/formats/raw/raw.h"

#include <gtest/gtest.h>

#include <string>

#include "lowtide/error.h"

namespace lowtide::raw {
namespace {

std::string refusal(const Spec& spec, std::uint64_t file_bytes) {
  try {
    describe(spec, file_bytes, "t.bin");
    return "accepted";
  } catch (const FormatError& e) {
    return e.what();
  }
}

TEST(Raw, OneUnknownExtentComesFromTheFilesSize) {
  const Layout layout = describe({.dtype = DType::uint16}, 20, "t.bin");
  EXPECT_EQ(layout.format, "raw");
  EXPECT_EQ(layout.dtype, DType::uint16);
  EXPECT_EQ(layout.shape, Shape{10});
  EXPECT_EQ(layout.data_offset, 0u);
  EXPECT_EQ(describe({.dtype = DType::float32, .shape = {-1, 3}}, 120, "t.bin").shape, (Shape{10, 3}));
  EXPECT_EQ(describe({.dtype = DType::float32, .shape = {5, -1}}, 120, "t.bin").shape, (Shape{5, 6}));
}

TEST(Raw, OffsetIsSkippedAndKept) {
  const Layout layout = describe({.dtype = DType::uint16, .offset = 1024}, 1044, "t.bin");
  EXPECT_EQ(layout.shape, Shape{10});
  EXPECT_EQ(layout.data_offset, 1024u);
}

TEST(Raw, OrderAndEndianAreTheCallers) {
  const Layout layout = describe({.endian = Endian::big, .order = Order::fortran, .shape = {2, 3}}, 6, "t.bin");
  EXPECT_EQ(layout.endian, Endian::big);
  EXPECT_EQ(layout.order, Order::fortran);
}

TEST(Raw, AnEmptyFileIsAnEmptyArray) {
  EXPECT_EQ(describe({.dtype = DType::float64}, 0, "t.bin").shape, Shape{0});
  EXPECT_EQ(describe({.dtype = DType::float64, .shape = {0, 5}}, 0, "t.bin").shape, (Shape{0, 5}));
}

TEST(Raw, AFileLongerThanAGivenShapeIsAccepted) {
  EXPECT_EQ(describe({.dtype = DType::int32, .shape = {2}}, 100, "t.bin").data_bytes(), 8u);
  EXPECT_EQ(describe({.dtype = DType::int32, .shape = {}}, 100, "t.bin").data_bytes(), 4u);
}

TEST(Raw, BytesLeftOverAreRefusedWithAShapeAndAnOffsetToType) {
  EXPECT_EQ(
      refusal({.dtype = DType::float32, .shape = {-1, 3}, .offset = 8}, 133),
      "t.bin: shape (-1, 3) of float32 needs a multiple of 12 bytes, but the file has 125 bytes after offset 8: 5 left "
      "over. Shape (10, 3) ignores what is left, offset 13 skips as much at the start; or give another dtype.");
}

TEST(Raw, AShapeLargerThanTheFileIsRefusedWithOneThatFits) {
  EXPECT_EQ(refusal({.dtype = DType::float32, .shape = {100, 3}}, 125),
            "t.bin: shape (100, 3) of float32 needs 1200 bytes, but the file has 125 bytes. Shape (10, 3) fits.");
  EXPECT_EQ(refusal({.dtype = DType::float32, .order = Order::fortran, .shape = {100, 3}}, 400),
            "t.bin: shape (100, 3) of float32 needs 1200 bytes, but the file has 400 bytes. Shape (100, 1) fits.");
  EXPECT_EQ(refusal({.dtype = DType::float64, .shape = {}}, 4),
            "t.bin: shape () of float64 needs 8 bytes, but the file has 4 bytes.");
}

TEST(Raw, AnOffsetBeyondTheEndIsRefused) {
  EXPECT_EQ(refusal({.offset = 11}, 10),
            "t.bin: offset 11 is beyond the end of the file (10 bytes); give an offset of at most 10");
  EXPECT_EQ(describe({.offset = 10}, 10, "t.bin").shape, Shape{0});
}

TEST(Raw, ImpossibleShapesAreRefused) {
  EXPECT_NE(refusal({.shape = {-1, -1}}, 10).find("2 extents"), std::string::npos);
  EXPECT_NE(refusal({.shape = {-2}}, 10).find("negative extent -2"), std::string::npos);
  EXPECT_NE(refusal({.shape = {-1, -2}}, 10).find("negative extent -2"), std::string::npos);
  EXPECT_NE(refusal({.shape = {-1, 0}}, 10).find("another extent is 0"), std::string::npos);
  EXPECT_NE(refusal({.shape = {-1, 1LL << 40, 1LL << 40}}, 10).find("2^63"), std::string::npos);
  EXPECT_NE(refusal({.shape = Shape(65, 1)}, 10).find("65 dimensions"), std::string::npos);
}

}  // namespace
}  // namespace lowtide::raw
