#include "lowtide/dtype.h"

#include <gtest/gtest.h>

#include <string>

#include "lowtide/error.h"

namespace lowtide {
namespace {

TEST(DType, NamesAndItemSizesAreNumPys) {
  EXPECT_EQ(name(DType::bool_), "bool");
  EXPECT_EQ(name(DType::uint16), "uint16");
  EXPECT_EQ(name(DType::bfloat16), "bfloat16");
  EXPECT_EQ(name(DType::complex128), "complex128");
  EXPECT_EQ(itemsize(DType::bool_), 1u);
  EXPECT_EQ(itemsize(DType::float16), 2u);
  EXPECT_EQ(itemsize(DType::bfloat16), 2u);
  EXPECT_EQ(itemsize(DType::complex64), 8u);
  EXPECT_EQ(itemsize(DType::complex128), 16u);
}

TEST(DType, EveryNameParsesBackToItsDtype) {
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(name(dtype)), dtype);
  }
}

TEST(DType, ItemSizesAgreeWithTheCxxTypes) {
  EXPECT_EQ(itemsize(dtype_of<std::int16_t>), sizeof(std::int16_t));
  EXPECT_EQ(itemsize(dtype_of<double>), sizeof(double));
  EXPECT_EQ(itemsize(dtype_of<std::complex<double>>), sizeof(std::complex<double>));
}

TEST(DType, NumPyCodesOfNativeByteOrderParse) {
  EXPECT_EQ(parse_dtype("f4"), DType::float32);
  EXPECT_EQ(parse_dtype("<f4"), DType::float32);
  EXPECT_EQ(parse_dtype("=i8"), DType::int64);
  EXPECT_EQ(parse_dtype("|b1"), DType::bool_);
  EXPECT_EQ(parse_dtype("?"), DType::bool_);
  EXPECT_EQ(parse_dtype("|?"), DType::bool_);
  EXPECT_EQ(parse_dtype("f2"), DType::float16);
  EXPECT_EQ(parse_dtype("c16"), DType::complex128);
}

TEST(DType, WhatIsNotSupportedIsRefusedWithTheListOfWhatIs) {
  for (const char* text :
       {"", "<", "<<f4", "<float32", "f16", "O", "S5", "U3", "M8[ns]", "V2", "float", "Float32", ">i8"}) {
    EXPECT_THROW(parse_dtype(text), UnsupportedError) << text;
  }
  try {
    parse_dtype("O");
  } catch (const UnsupportedError& e) {
    EXPECT_STREQ(
        e.what(),
        "dtype \"O\" is not supported. Supported: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, "
        "float16, bfloat16, float32, float64, complex64, complex128.");
  }
}

TEST(DType, BigEndianCodesAreRefusedBecauseOrderBelongsToALayout) {
  try {
    parse_dtype(">i8");
    FAIL();
  } catch (const UnsupportedError& e) {
    EXPECT_NE(std::string(e.what()).find("byte order"), std::string::npos);
  }
}

}  // namespace
}  // namespace lowtide
