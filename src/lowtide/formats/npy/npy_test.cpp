#include "lowtide/formats/npy/npy.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "lowtide/error.h"

namespace lowtide::npy {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// A header around a dict as np.save makes it: padded with spaces to 64 bytes, newline last.
std::string with_prefix(std::string dict, int major = 1) {
  const std::size_t prefix = major == 1 ? 10 : 12;
  dict.append(63 - (prefix + dict.size()) % 64, ' ');
  dict += '\n';
  std::string head = "\x93NUMPY";
  head += {static_cast<char>(major), '\0'};
  for (std::size_t i = 0; i < prefix - 8; ++i) head += static_cast<char>(dict.size() >> (8 * i) & 0xFF);
  return head + dict;
}

std::string dict_of(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

Layout parsed(const std::string& head, std::uint64_t data_bytes = 1 << 20) {
  return parse(bytes_of(head), head.size() + data_bytes, "x.npy");
}

Layout parsed_dict(const std::string& dict, int major = 1) { return parsed(with_prefix(dict, major)); }

template <class E>
std::string refusal(const std::string& dict, int major = 1) {
  try {
    parsed_dict(dict, major);
    return "accepted";
  } catch (const E& e) {
    return e.what();
  }
}

bool refused(const std::string& dict, int major = 1) { return refusal<FormatError>(dict, major) != "accepted"; }

TEST(NpyParse, ReadsWhatNumPyWrites) {
  const Layout layout = parsed_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }");
  EXPECT_EQ(layout.format, "npy");
  EXPECT_EQ(layout.dtype, DType::float32);
  EXPECT_EQ(layout.endian, Endian::little);
  EXPECT_EQ(layout.order, Order::c);
  EXPECT_EQ(layout.shape, (Shape{3, 4}));
  EXPECT_EQ(layout.data_offset, 128u);
}

TEST(NpyParse, ReadsVersions2And3) {
  for (const int major : {2, 3}) {
    const Layout layout = parsed_dict(dict_of("'<f8'", "(5,)", "True"), major);
    EXPECT_EQ(layout.dtype, DType::float64);
    EXPECT_EQ(layout.order, Order::fortran);
    EXPECT_EQ(layout.shape, Shape{5});
  }
}

TEST(NpyParse, ReadsEveryDtypeAndByteOrder) {
  const auto element = [](const std::string& descr) {
    const Layout layout = parsed_dict(dict_of("'" + descr + "'", "()"));
    return std::pair(layout.dtype, layout.endian);
  };
  EXPECT_EQ(element("|b1"), std::pair(DType::bool_, Endian::little));
  EXPECT_EQ(element("?"), std::pair(DType::bool_, Endian::little));
  EXPECT_EQ(element("|u1"), std::pair(DType::uint8, Endian::little));
  EXPECT_EQ(element(">i1"), std::pair(DType::int8, Endian::little));
  EXPECT_EQ(element(">i8"), std::pair(DType::int64, Endian::big));
  EXPECT_EQ(element("=f4"), std::pair(DType::float32, Endian::little));
  EXPECT_EQ(element("<f2"), std::pair(DType::float16, Endian::little));
  EXPECT_EQ(element("<c8"), std::pair(DType::complex64, Endian::little));
  EXPECT_EQ(element(">c16"), std::pair(DType::complex128, Endian::big));
  EXPECT_EQ(element("float64"), std::pair(DType::float64, Endian::little));
}

TEST(NpyParse, ReadsScalarEmptyAndManyDimensionalShapes) {
  EXPECT_EQ(parsed_dict(dict_of("'<f4'", "()")).shape, Shape{});
  EXPECT_EQ(parsed_dict(dict_of("'<f4'", "(0,)")).shape, Shape{0});
  EXPECT_EQ(parsed_dict(dict_of("'<f4'", "( 2 , 0,3 , )")).shape, (Shape{2, 0, 3}));
  std::string ones = "(";
  for (int i = 0; i < 64; ++i) ones += "1, ";
  EXPECT_EQ(parsed_dict(dict_of("'<f4'", ones + ")")).shape, Shape(64, 1));
  EXPECT_TRUE(refused(dict_of("'<f4'", ones + "1)")));
}

TEST(NpyParse, KeyOrderQuotesAndBlanksDoNotMatter) {
  const Layout layout = parsed_dict("\t{ \"shape\":(7,) ,\n 'fortran_order' : True, \"descr\": \"<i2\"} \t\n");
  EXPECT_EQ(layout.shape, Shape{7});
  EXPECT_EQ(layout.order, Order::fortran);
  EXPECT_EQ(layout.dtype, DType::int16);
}

TEST(NpyParse, PythonTwoLongsAreReadInVersions1And2) {
  EXPECT_EQ(parsed_dict(dict_of("'<f4'", "(10L, 3L)")).shape, (Shape{10, 3}));
  EXPECT_EQ(parsed_dict(dict_of("'<f4'", "(10L,)"), 2).shape, Shape{10});
  EXPECT_TRUE(refused(dict_of("'<f4'", "(10L,)"), 3));
}

TEST(NpyParse, AFileLongerThanItsDataIsAccepted) {
  EXPECT_EQ(parsed(with_prefix(dict_of("'<f4'", "(3,)")), 1000).data_bytes(), 12u);
}

TEST(NpyParse, AFileTooShortForItsShapeIsRefusedWithTheNumbers) {
  try {
    parsed(with_prefix(dict_of("'<f4'", "(1000, 3)")), 11'000);
    FAIL();
  } catch (const FormatError& e) {
    EXPECT_STREQ(
        e.what(),
        "x.npy: the header promises shape (1000, 3) of float32: 12000 bytes after a header of 128; the file has "
        "11128, 1000 too few. It was cut short or is still being written.");
  }
}

TEST(NpyParse, ShapesThatOverflowAreRefusedBeforeAnyAllocation) {
  EXPECT_TRUE(refused(dict_of("'<f8'", "(4294967296, 4294967296)")));
  EXPECT_TRUE(refused(dict_of("'<f8'", "(0, 4294967296, 4294967296)")));
  EXPECT_TRUE(refused(dict_of("'<f8'", "(9223372036854775807,)")));
  EXPECT_TRUE(refused(dict_of("'<f8'", "(9223372036854775808,)")));
  EXPECT_TRUE(refused(dict_of("'<f8'", "(99999999999999999999999999,)")));
  EXPECT_TRUE(refused(dict_of("'<f8'", "(-1,)")));
}

TEST(NpyParse, WhatIsNotATupleOfIntegersIsRefused) {
  for (const char* shape : {"(3)", "[3]", "3", "(,)", "(3,,)", "(3 4)", "(3, 4", "(3.0,)", "(0x3,)", "(1_0,)", "(03,)",
                            "(+3,)", "(True,)", "((3,),)", "('3',)", "(3,)+(4,)", "(L,)", "(3LL,)"}) {
    EXPECT_TRUE(refused(dict_of("'<f4'", shape))) << shape;
  }
}

TEST(NpyParse, DuplicateUnknownAndMissingKeysAreRefused) {
  EXPECT_NE(refusal<FormatError>("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'shape': (4,)}")
                .find("key 'shape' a second time"),
            std::string::npos);
  EXPECT_TRUE(refused("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'x': (4,)}"));
  EXPECT_NE(refusal<FormatError>("{'descr': '<f4', 'shape': (3,)}").find("no key 'fortran_order'"), std::string::npos);
  EXPECT_NE(refusal<FormatError>("{}").find("no key 'descr'"), std::string::npos);
}

TEST(NpyParse, BrokenLiteralsAreRefused) {
  const std::string good = dict_of("'<f4'", "(3,)");
  for (const std::string& dict : {std::string(), std::string("{"), good + "x", good + good, "[" + good,
                                  good.substr(0, good.size() - 1), "{,}" + good, std::string("{'descr' '<f4'}"),
                                  dict_of("'<f4", "(3,)"), dict_of("'<f4\"", "(3,)"), dict_of("'\\x3cf4'", "(3,)"),
                                  dict_of("b'<f4'", "(3,)"), dict_of("None", "(3,)"), dict_of("'<f4'", "(3,)", "false"),
                                  dict_of("'<f4'", "(3,)", "1"), good + std::string(3, '\0'), good + "# comment"}) {
    EXPECT_TRUE(refused(dict)) << dict;
  }
}

TEST(NpyParse, Version3MustBeUtf8) {
  EXPECT_TRUE(refused(dict_of("'<f4\xff'", "(3,)"), 3));
  EXPECT_NE(refusal<UnsupportedError>(dict_of("'\xc3\xa9'", "(3,)"), 3), "accepted");
  EXPECT_NE(refusal<UnsupportedError>(dict_of("'\xe9'", "(3,)"), 1), "accepted");
}

TEST(NpyParse, UnsupportedDtypesAreRefusedWithWhatToDo) {
  const auto message = [](const std::string& descr) {
    return refusal<UnsupportedError>(dict_of("'" + descr + "'", "(3,)"));
  };
  EXPECT_NE(message("|O").find("pickled Python objects"), std::string::npos);
  EXPECT_NE(message("|S5").find("text"), std::string::npos);
  EXPECT_NE(message("<U3").find("text"), std::string::npos);
  EXPECT_NE(message("<M8[ns]").find("x.view(\"int64\")"), std::string::npos);
  EXPECT_NE(message("<V2").find("dtype bfloat16 and offset 128"), std::string::npos);
  EXPECT_NE(message("|V7").find("opaque"), std::string::npos);
  for (const char* descr : {"<f16", "", "<", "<<f4", "><f4", "bfloat16", "f3"}) {
    EXPECT_NE(message(descr).find("Supported: bool"), std::string::npos) << descr;
  }
  EXPECT_NE(refusal<UnsupportedError>(dict_of("[('x', '<f4')]", "(3,)")).find("structured"), std::string::npos);
  EXPECT_NE(refusal<UnsupportedError>(dict_of("('<f4', (2,))", "(3,)")).find("structured"), std::string::npos);
}

TEST(NpyHeaderBytes, IsKnownFromTheFirstTwelveBytes) {
  EXPECT_EQ(header_bytes(bytes_of(with_prefix(dict_of("'<f4'", "(3,)")).substr(0, prefix_bytes)), "x.npy"), 128u);
  EXPECT_EQ(header_bytes(bytes_of(std::string("\x93NUMPY\x02\x00\xf4\xff\x00\x00", 12)), "x.npy"), max_header_bytes);
}

TEST(NpyHeaderBytes, AHugeHeaderIsRefusedBeforeItIsRead) {
  EXPECT_THROW(header_bytes(bytes_of(std::string("\x93NUMPY\x02\x00\xf5\xff\x00\x00", 12)), "x.npy"), FormatError);
  EXPECT_THROW(header_bytes(bytes_of(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)), "x.npy"), FormatError);
}

TEST(NpyHeaderBytes, WhatIsNotNpyIsRefusedWithWhatToDo) {
  const auto message = [](const std::string& first) -> std::string {
    try {
      header_bytes(bytes_of(first), "x.npy");
      return "accepted";
    } catch (const FormatError& e) {
      return e.what();
    }
  };
  EXPECT_NE(message("").find("does not begin"), std::string::npos);
  EXPECT_NE(message("abcdefghijkl").find("open it as raw"), std::string::npos);
  EXPECT_NE(message("PK\x03\x04........").find("npz"), std::string::npos);
  EXPECT_NE(message("\x93NUMPY").find("the file has 6"), std::string::npos);
  EXPECT_NE(message(std::string("\x93NUMPY\x01\x00\x10", 9)).find("needs 10"), std::string::npos);
  EXPECT_NE(message(std::string("\x93NUMPY\x02\x00\x10\x00", 10)).find("needs 12"), std::string::npos);
  EXPECT_NE(message(std::string("\x93NUMPY\x04\x00\x10\x00\x00\x00", 12)).find("version 4.0"), std::string::npos);
  EXPECT_NE(message(std::string("\x93NUMPY\x01\x01\x10\x00\x00\x00", 12)).find("version 1.1"), std::string::npos);
}

TEST(NpyHeaderBytes, AHeaderLongerThanTheFileIsRefused) {
  const std::string head = with_prefix(dict_of("'<f4'", "(0,)"));
  EXPECT_THROW(parse(bytes_of(head.substr(0, 100)), 100, "x.npy"), FormatError);
  EXPECT_THROW(parse(bytes_of(head), 100, "x.npy"), FormatError);
}

// The dict is what np.lib.format.write_array_header_1_0 writes, NumPy 2.4.
TEST(NpyWrite, MakesTheHeaderNumPyMakesPaddedToAPage) {
  const Layout layout{.format = "npy", .dtype = DType::float32, .shape = {3, 4}};
  const std::string head = write_header(layout);
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }";
  EXPECT_EQ(head.size(), 4096u);
  EXPECT_EQ(head.substr(0, 10), std::string("\x93NUMPY\x01\x00\xf6\x0f", 10));
  EXPECT_EQ(head.substr(10, dict.size()), dict);
  EXPECT_EQ(head.find_first_not_of(' ', 10 + dict.size()), head.size() - 1);
  EXPECT_EQ(head.back(), '\n');
}

TEST(NpyWrite, EveryDtypeOrderAndShapeReadsBackTheSame) {
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::bfloat16) continue;
    for (const Order order : {Order::c, Order::fortran}) {
      for (const Endian endian : {Endian::little, Endian::big}) {
        for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{2, 3, 4}}) {
          const Layout layout{.format = "npy", .dtype = dtype, .endian = endian, .order = order, .shape = shape};
          const Layout back = parsed(write_header(layout));
          EXPECT_EQ(back.dtype, dtype);
          EXPECT_EQ(back.endian, itemsize(dtype) == 1 ? Endian::little : endian);
          EXPECT_EQ(back.order, order);
          EXPECT_EQ(back.shape, shape);
          EXPECT_EQ(back.data_offset, written_header_bytes);
        }
      }
    }
  }
}

TEST(NpyWrite, TheSizeDoesNotChangeWhenTheSlowestExtentGrows) {
  for (const std::size_t pad_to : {std::size_t{0}, std::size_t{64}, std::size_t{128}, written_header_bytes}) {
    for (const Order order : {Order::c, Order::fortran}) {
      Layout layout{.format = "npy", .dtype = DType::uint8, .order = order, .shape = {1, 1, 1}};
      const std::size_t size = write_header(layout, pad_to).size();
      (order == Order::c ? layout.shape.front() : layout.shape.back()) = INT64_MAX;
      EXPECT_EQ(write_header(layout, pad_to).size(), size);
      EXPECT_EQ(write_header(layout, size).size(), size);
    }
  }
}

TEST(NpyWrite, AHeaderThatDoesNotFitIsPaddedToTheNextMultipleOf64) {
  const Layout layout{.format = "npy", .dtype = DType::uint8, .shape = Shape(64, 1)};
  EXPECT_EQ(write_header(layout, 64).size() % 64, 0u);
  EXPECT_EQ(parsed(write_header(layout, 64)).shape, layout.shape);
}

TEST(NpyWrite, TheLargestShapeStaysWithinWhatNumPyReads) {
  Layout layout{.format = "npy", .dtype = DType::complex128, .shape = Shape(64, 1)};
  layout.shape[0] = INT64_MAX / 16;
  EXPECT_EQ(write_header(layout).size(), written_header_bytes);
}

TEST(NpyWrite, WhatNumPyCouldNotReadIsRefused) {
  EXPECT_THROW(write_header({.format = "npy", .dtype = DType::bfloat16, .shape = {3}}), UnsupportedError);
  EXPECT_THROW(write_header({.format = "npy", .shape = {3}}, 10'001), std::invalid_argument);
  EXPECT_THROW(write_header({.format = "npy", .shape = {-3}}), FormatError);
}

}  // namespace
}  // namespace lowtide::npy
