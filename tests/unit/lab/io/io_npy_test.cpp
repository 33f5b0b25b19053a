// .npy: files that NumPy wrote are read, our files equal NumPy's, and everything else is refused.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>

#include "lab/io/parsers.h"
#include "support/io_files.h"

namespace tamis::test {
namespace {

std::string npy_text(std::string_view dict, std::size_t data_bytes, int version = 1) {
  std::string text = "\x93NUMPY";
  text += static_cast<char>(version);
  text += '\0';
  const auto length = static_cast<std::uint32_t>(dict.size());
  text.append(reinterpret_cast<const char*>(&length), version == 1 ? 2 : 4);
  text += dict;
  text.append(data_bytes, '\0');
  return text;
}

std::string refusal(const std::string& bytes) {
  return sentence([&] { (void)lab::io::parse_npy(*source_of(bytes)); });
}

std::vector<std::int64_t> shape_of(const std::string& bytes) {
  return lab::io::parse_npy(*source_of(bytes)).info().shape;
}

RC_GTEST_PROP(Npy, WhatIsWrittenIsReadBack, ()) {
  const Folder folder;
  const DType dtype =
      *rc::gen::elementOf(std::vector<DType>(std::begin(all_dtypes), std::end(all_dtypes)));
  const auto shape = *rc::gen::container<std::vector<std::int64_t>>(
      static_cast<std::size_t>(*rc::gen::inRange(0, 4)), rc::gen::inRange<std::int64_t>(0, 4));
  const lab::TensorInfo info{"", dtype, shape};
  const auto data = *rc::gen::container<std::vector<std::uint8_t>>(
      static_cast<std::size_t>(info.bytes()), rc::gen::arbitrary<std::uint8_t>());
  lab::write_npy(folder / "a.npy", {info, data.data()});
  const lab::Tensor tensor = lab::read_npy(folder / "a.npy");
  RC_ASSERT(tensor.info().dtype == dtype);
  RC_ASSERT(tensor.info().shape == shape);
  RC_ASSERT(std::ranges::equal(tensor.bytes(), std::as_bytes(std::span(data))));
}

TEST(Npy, AFileIsByteForByteWhatNumpyWrites) {
  const Folder folder;
  const float values[3] = {1, 2, 3};
  lab::write_npy(folder / "a.npy", {{"", DType::f32, {3}}, values});
  std::string expected = std::string("\x93NUMPY\x01\x00v\x00", 10) +
                         "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
  expected.append(127 - expected.size(), ' ');
  expected += '\n';
  expected.append(reinterpret_cast<const char*>(values), sizeof values);
  EXPECT_EQ(read_text(folder / "a.npy"), expected);
}

TEST(Npy, AllVersionsAndWaysOfWritingTheHeaderAreRead) {
  EXPECT_EQ(shape_of(npy_text("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24)),
            (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(shape_of(npy_text("{\"shape\":(2,3),\"descr\":\"|u1\",\"fortran_order\":False}", 6, 2)),
            (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(shape_of(npy_text("{'descr': '<f8', 'fortran_order': True, 'shape': (5L,), }", 40, 3)),
            (std::vector<std::int64_t>{5}));
  EXPECT_EQ(shape_of(npy_text("{'descr': '|b1', 'fortran_order': False, 'shape': (), }", 1)),
            std::vector<std::int64_t>{});
  EXPECT_EQ(lab::io::parse_npy(*source_of(npy_text(
                                   "{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }", 2)))
                .info()
                .dtype,
            DType::bf16);
}

TEST(Npy, WhatCannotBeReadIsRefusedWithWhatWouldBeRight) {
  EXPECT_EQ(refusal(npy_text("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 24)),
            "input: the npy file is in Fortran order; save it in C order, for example with "
            "numpy.ascontiguousarray");
  EXPECT_EQ(refusal(npy_text("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", 8)),
            "input: the npy file is big endian ('>f4'); save it little endian, for example with "
            "array.astype(array.dtype.newbyteorder('<'))");
  EXPECT_EQ(
      refusal(npy_text("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", 8)),
      "input: the npy file has elements of type '<c8'; tamis reads f2, V2, f4, f8, i1, i2, i4, i8, "
      "u1, u2, u4, u8, b1, little endian");
  EXPECT_EQ(
      refusal(npy_text("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", 4)),
      "input: the npy file holds records; it must hold plain numbers");
  EXPECT_EQ(refusal("not numpy at all"),
            "input: is not an npy file; one begins with \\x93NUMPY, a version and a header length");
  EXPECT_EQ(refusal(npy_text("{}", 0, 4)),
            "input: has npy version 4.0; tamis reads 1.0, 2.0 and 3.0");
}

TEST(Npy, SizesThatLieAreRefused) {
  EXPECT_EQ(refusal(npy_text("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 23)),
            "input: f32 [2, 3] needs 24 bytes, but 23 follow the npy header");
  EXPECT_EQ(refusal(npy_text("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 25)),
            "input: f32 [2, 3] needs 24 bytes, but 25 follow the npy header");
  EXPECT_EQ(
      refusal(npy_text(
          "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8), }", 4)),
      "input: f32 [4611686018427387904, 8] needs more than 2^63 bytes, but 4 follow the npy "
      "header");
  EXPECT_EQ(refusal(npy_text(
                "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,), }", 4)),
            "input: the npy header's shape must be at most 64 whole numbers from 0 to 2^63 − 1");
  EXPECT_EQ(refusal(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14)),
            "input: the npy header should take 4294967295 bytes, but the file has only 14; it is "
            "truncated");
}

TEST(Npy, AsManyDimensionsAreWrittenAsAreRead) {
  const Folder folder;
  const std::uint8_t value = 7;
  const std::vector<std::int64_t> most(64, 1);
  lab::write_npy(folder / "a.npy", {{"", DType::u8, most}, &value});
  EXPECT_EQ(lab::read_npy(folder / "a.npy").info().shape, most);
  const std::vector<std::int64_t> more(65, 1);
  EXPECT_EQ(sentence(
                [&] {
                  lab::write_npy(folder / "b.npy", {{"", DType::u8, more}, &value});
                },
                Code::usage),
            folder / "b.npy: the array to be written has 65 dimensions; npy holds at most 64");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(Npy, EveryPrefixOfAHeaderIsRefused) {
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  for (std::size_t length = 0; length < dict.size(); ++length)
    refusal(npy_text(dict.substr(0, length), 24));
  const std::string whole = npy_text(dict, 24);
  for (std::size_t length = 0; length < whole.size(); ++length) refusal(whole.substr(0, length));
}

TEST(Npy, HeaderFieldsAreRequiredOnce) {
  EXPECT_EQ(refusal(npy_text("{'descr': '<f4', 'shape': (1,), }", 4)),
            "input: the npy header must have the fields descr, fortran_order and shape");
  EXPECT_EQ(
      refusal(npy_text("{'descr': '<f4', 'descr': '<f4', }", 4)),
      "input: the npy header has the field 'descr' twice; it must have descr, fortran_order and "
      "shape, once each");
  EXPECT_EQ(refusal(npy_text("{'order': 'C', }", 4)),
            "input: the npy header has the field 'order' that is unknown; it must have descr, "
            "fortran_order and shape, once each");
  EXPECT_EQ(refusal(npy_text("{'descr': f4}", 4)),
            "input: the npy header cannot be read from its byte 10 on; it must look like {'descr': "
            "'<f4', 'fortran_order': False, 'shape': (3, 4), }");
}

}  // namespace
}  // namespace tamis::test
