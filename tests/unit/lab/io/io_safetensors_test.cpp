// safetensors: files are read back as written, and every kind of damage is reported
// in one sentence.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>

#include "lab/io/parsers.h"
#include "support/io_files.h"

namespace tamis::test {
namespace {

std::string refusal(const std::string& bytes) {
  return sentence([&] { lab::io::open_safetensors(source_of(bytes)); });
}
/// The error for a file with this header, followed by `data_bytes` of data.
std::string refusal(std::string_view json, std::size_t data_bytes) {
  return refusal(safetensors_text(json, data_bytes));
}

// ---- Round trips ----

struct Array {
  lab::TensorInfo info;
  std::vector<std::byte> data;
  [[nodiscard]] lab::TensorRef ref() const { return {info, data.data()}; }
};

/// An array of any type, with up to four dimensions, sizes from zero on, and any bytes.
Array any_array(std::string name) {
  Array array;
  array.info.name = std::move(name);
  array.info.dtype =
      *rc::gen::elementOf(std::vector<DType>(std::begin(all_dtypes), std::end(all_dtypes)));
  array.info.shape =
      *rc::gen::resize(4, rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange(0, 5)));
  if (array.info.shape.size() > 4) array.info.shape.resize(4);
  const auto bytes = static_cast<std::size_t>(array.info.bytes());
  for (const auto b :
       *rc::gen::container<std::vector<std::uint8_t>>(bytes, rc::gen::arbitrary<std::uint8_t>()))
    array.data.push_back(std::byte{b});
  return array;
}

std::string any_text(const std::vector<std::string>& pieces) {
  std::string text;
  for (const auto& piece :
       *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces)))
    text += piece;
  return text;
}

const std::vector<std::string> name_pieces{"a", "layers.3.k", "\"", "\\", "\n", "é", "😀"};

std::string any_name() { return any_text(name_pieces); }

/// Values may hold zero bytes; names may not.
std::string any_value() {
  std::vector<std::string> pieces = name_pieces;
  pieces.emplace_back(1, '\0');
  return any_text(pieces);
}

RC_GTEST_PROP(Safetensors, WhatIsWrittenIsReadBack, ()) {
  const Folder folder;
  const int count = *rc::gen::inRange(0, 5);
  std::vector<Array> arrays;
  std::vector<lab::TensorRef> refs;
  for (int i = 0; i < count; ++i) arrays.push_back(any_array(std::to_string(i) + any_name()));
  for (const Array& array : arrays) refs.push_back(array.ref());
  lab::Metadata metadata;
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) metadata[any_name()] = any_value();

  const std::string path = folder / "t.safetensors";
  lab::write_safetensors(path, refs, metadata);
  const lab::SafetensorsFile file(path);
  RC_ASSERT(file.metadata() == metadata);
  RC_ASSERT(file.tensors().size() == arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const lab::Tensor tensor = file.read(arrays[i].info.name);
    RC_ASSERT(tensor.info().dtype == arrays[i].info.dtype);
    RC_ASSERT(tensor.info().shape == arrays[i].info.shape);
    RC_ASSERT(std::ranges::equal(tensor.bytes(), arrays[i].data));
  }
}

TEST(Safetensors, TensorsKeepTheOrderGivenAndDataStartsAtAMultipleOfEight) {
  const Folder folder;
  const float values[3] = {1, 2, 3};
  const std::vector<lab::TensorRef> refs{{{"z", DType::f32, {3}}, values},
                                         {{"a", DType::f32, {1}}, values}};
  for (const char* note : {"", "1", "12", "123", "1234", "12345", "123456", "1234567"}) {
    lab::write_safetensors(folder / "t", refs, {{"note", note}});
    std::uint64_t length = 0;
    std::memcpy(&length, read_text(folder / "t").data(), 8);
    EXPECT_EQ(length % 8, 0U);
    const lab::SafetensorsFile file(folder / "t");
    EXPECT_EQ(file.tensors()[0].name, "z");
    EXPECT_EQ(file.tensors()[1].name, "a");
    EXPECT_EQ(file.read("a").to_f32(), std::vector<float>{1});
  }
}

TEST(Safetensors, ReadingDoesNotModifyTheFile) {
  const Folder folder;
  const float value = 1;
  const lab::TensorRef ref{{"a", DType::f32, {1}}, &value};
  lab::write_safetensors(folder / "t", {&ref, 1});
  const auto time = std::filesystem::last_write_time(folder / "t");
  const std::string bytes = read_text(folder / "t");
  EXPECT_EQ(lab::SafetensorsFile(folder / "t").read("a").to_f32(), std::vector<float>{1});
  EXPECT_EQ(read_text(folder / "t"), bytes);
  EXPECT_EQ(std::filesystem::last_write_time(folder / "t"), time);
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(Safetensors, TheOrderOfTheHeaderIsFree) {
  const std::string bytes = safetensors_text(
      R"({"late":{"shape":[2],"data_offsets":[3,5],"dtype":"U8"},"early":{"dtype":"I8","shape":[3],"data_offsets":[0,3]},"__metadata__":{"a":"b"}})",
      5);
  const lab::SafetensorsFile file = lab::io::open_safetensors(source_of(bytes));
  EXPECT_EQ(file.tensors()[0].name, "early");
  EXPECT_EQ(file.tensors()[1].name, "late");
  EXPECT_EQ(file.metadata().at("a"), "b");
  EXPECT_EQ(file.find("absent"), nullptr);
  EXPECT_EQ(sentence([&] { (void)file.read("absent"); }), "input: there is no tensor 'absent'");
}

TEST(Safetensors, ZeroDimensionsAndNoDimensionsAreArrays) {
  const std::string bytes = safetensors_text(
      R"({"none":{"dtype":"F64","shape":[4611686018427387904,0,4611686018427387904],"data_offsets":[0,0]},"one":{"dtype":"F64","shape":[],"data_offsets":[0,8]}})",
      8);
  const lab::SafetensorsFile file = lab::io::open_safetensors(source_of(bytes));
  EXPECT_EQ(file.read("none").info().elements(), 0);
  EXPECT_EQ(file.read("one").to_f64(), std::vector<double>{0});
}

// ---- Damage ----

TEST(Safetensors, ATruncatedFileIsRefused) {
  EXPECT_EQ(refusal(""),
            "input: the file has 0 bytes; a safetensors file begins with 8 bytes of header length");
  EXPECT_EQ(refusal("\x01\x02\x03"),
            "input: the file has 3 bytes; a safetensors file begins with 8 bytes of header length");
  const std::string whole =
      safetensors_text(R"({"layers.0.q":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})", 16);
  EXPECT_EQ(refusal(whole.substr(0, whole.size() - 1)),
            "input: tensor 'layers.0.q' should end at byte 16 of the data, but the file has only "
            "15; it is truncated or its header is wrong");
  for (std::size_t length = 0; length < whole.size(); ++length) refusal(whole.substr(0, length));
}

TEST(Safetensors, AHeaderLengthBeyondTheFileIsRefusedBeforeAnythingIsAllocated) {
  // An allocation of the size that these headers claim would fail with a different error.
  for (const std::uint64_t length :
       {std::uint64_t{3}, std::uint64_t{1} << 31, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    std::string bytes(reinterpret_cast<const char*>(&length), 8);
    bytes += "{}";
    EXPECT_EQ(refusal(bytes),
              "input: the header should take " + std::to_string(length) +
                  " bytes, but only 2 follow its length; the file is truncated or not safetensors");
  }
}

TEST(Safetensors, AHeaderAboveTheFormatsLimitIsRefused) {
  const Folder folder;
  const std::uint64_t length = 100'000'001;
  write_text(folder / "t", std::string(reinterpret_cast<const char*>(&length), 8) + "{");
  std::filesystem::resize_file(folder / "t", 200'000'000);  // a sparse file, which takes no space
  EXPECT_EQ(sentence([&] { lab::SafetensorsFile file(folder / "t"); }),
            folder / "t: the header takes 100000001 bytes; at most 100000000 are allowed");
}

TEST(Safetensors, OffsetsMustCoverTheDataOnce) {
  EXPECT_EQ(
      refusal(
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
          6),
      "input: tensors 'a' and 'b' overlap; each must have bytes of its own");
  EXPECT_EQ(
      refusal(
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
          4),
      "input: tensors 'a' and 'b' overlap; each must have bytes of its own");
  EXPECT_EQ(
      refusal(
          R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}})",
          4),
      "input: bytes 1 to 3 of the data, before tensor 'b', belong to no tensor");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 4),
            "input: the last 3 bytes belong to no tensor; the data should have 1 bytes and has 4");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[6,10]}})", 8),
            "input: tensor 'a' should end at byte 10 of the data, but the file has only 8; it is "
            "truncated or its header is wrong");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})", 4),
            "input: data_offsets of tensor 'a' are [4, 0]; the first must not be above the second");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,20]}})", 20),
            "input: tensor 'a' takes 20 bytes in the file, but f32 [2, 3] needs 24");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4,4]}})", 4),
            "input: data_offsets of tensor 'a' holds 3 numbers; it must hold two, begin and end");
}

TEST(Safetensors, DimensionsThatDoNotFitAreRefused) {
  EXPECT_EQ(
      refusal(R"({"a":{"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,4]}})", 4),
      "input: shape of tensor 'a' holds 9223372036854775808; it must hold whole numbers from 0 to "
      "2^63 − 1");
  EXPECT_EQ(
      refusal(R"({"a":{"dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,4]}})", 4),
      "input: shape of tensor 'a' holds 99999999999999999999; it must hold whole numbers from 0 to "
      "2^63 − 1");
  EXPECT_EQ(
      refusal(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0),
      "input: tensor 'a' of shape [4611686018427387904, 4] is larger than any file; its bytes must "
      "fit 63 bits");
  EXPECT_EQ(
      refusal(R"({"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}})", 0),
      "input: tensor 'a' of shape [2305843009213693952] is larger than any file; its bytes must "
      "fit 63 bits");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,4]}})", 4),
            "input: shape of tensor 'a' holds -1; it must hold whole numbers from 0 to 2^63 − 1");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,4]}})", 4),
            "input: shape of tensor 'a' holds 1.5; it must hold whole numbers from 0 to 2^63 − 1");
  std::string many = R"({"a":{"dtype":"U8","shape":[1)";
  for (int i = 0; i < 64; ++i) many += ",1";
  EXPECT_EQ(refusal(many + R"(],"data_offsets":[0,1]}})", 1),
            "input: shape of tensor 'a' has more than 64 numbers");
}

TEST(Safetensors, NamesMayNotRepeat) {
  const std::string a = R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_EQ(refusal("{" + a + "," + a + "}", 0),
            "input: two tensors are called 'a'; names must differ");
  EXPECT_EQ(refusal(R"({"__metadata__":{"k":"1","k":"2"}})", 0),
            "input: the metadata has two entries 'k'");
  EXPECT_EQ(refusal(R"({"__metadata__":{},"__metadata__":{}})", 0),
            "input: the header has two entries '__metadata__'");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","dtype":"I8","shape":[0],"data_offsets":[0,0]}})", 0),
            "input: tensor 'a' has two fields 'dtype'");
}

TEST(Safetensors, NamesThatCCannotTellApartAreRefused) {
  EXPECT_EQ(refusal(R"({"a\u0000b":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0),
            R"(input: the tensor name 'a\x00b' holds a zero byte; names must not)");
  EXPECT_EQ(refusal(R"({"__metadata__":{"a\u0000b":"1"}})", 0),
            R"(input: the metadata key 'a\x00b' holds a zero byte; names must not)");
}

TEST(Safetensors, FieldsMustBeOfTheirTypeAndAllThere) {
  EXPECT_EQ(refusal(R"({"a":{"dtype":"F8_E4M3","shape":[0],"data_offsets":[0,0]}})", 0),
            "input: tensor 'a' has dtype 'F8_E4M3'; tamis reads F16, BF16, F32, F64, I8, I16, I32, "
            "I64, U8, U16, U32, U64, BOOL");
  EXPECT_EQ(refusal(R"({"a":{"dtype":7,"shape":[0],"data_offsets":[0,0]}})", 0),
            "input: dtype of tensor 'a' must be a string");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":"2","data_offsets":[0,0]}})", 0),
            "input: shape of tensor 'a' must be an array of whole numbers");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":[true],"data_offsets":[0,0]}})", 0),
            "input: shape of tensor 'a' must hold whole numbers only");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":[0]}})", 0),
            "input: tensor 'a' has no data_offsets");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","data_offsets":[0,0]}})", 0),
            "input: tensor 'a' has no shape");
  EXPECT_EQ(refusal(R"({"a":{"shape":[0],"data_offsets":[0,0]}})", 0),
            "input: tensor 'a' has no dtype");
  EXPECT_EQ(
      refusal(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"extra":1}})", 0),
      "input: tensor 'a' has a field 'extra'; only dtype, shape and data_offsets are allowed");
  EXPECT_EQ(refusal(R"({"a":[1]})", 0), "input: header entry 'a' must be an object");
  EXPECT_EQ(refusal(R"({"a":null})", 0), "input: header entry 'a' must be an object");
  EXPECT_EQ(refusal(R"({"__metadata__":{"scale":0.125}})", 0),
            "input: metadata entry 'scale' must be a string");
}

TEST(Safetensors, DeepNestingIsRefusedWhereItBegins) {
  const std::string deep(5'000'000, '[');
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","data_offsets":[0,0],"shape":[)" + deep, 0),
            "input: shape of tensor 'a' must hold whole numbers only");
  std::string objects;
  for (int i = 0; i < 500'000; ++i) objects += R"({"a":)";
  EXPECT_EQ(refusal(objects, 0),
            "input: tensor 'a' has a field 'a'; only dtype, shape and data_offsets are allowed");
}

TEST(Safetensors, AHeaderThatIsNotJsonInUtf8IsRefused) {
  EXPECT_EQ(refusal("{\"\xff\":{}}", 0), "input: the header is not UTF-8 at its byte 2");
  EXPECT_EQ(refusal("{\"\xed\xa0\x80\":{}}", 0), "input: the header is not UTF-8 at its byte 2");
  EXPECT_EQ(refusal("\xef\xbb\xbf{}", 0), "input: the header must begin with '{'");
  EXPECT_EQ(refusal("", 0), "input: the header must begin with '{'");
  EXPECT_EQ(refusal("[]", 0), "input: the header must begin with '{'");
  EXPECT_EQ(refusal(std::string_view("{}\0}", 4), 0),
            "input: the header is not JSON: its byte 2 is zero");
  EXPECT_EQ(
      refusal("{} x", 0),
      "input: the header is not JSON from its byte 4 on; the file is damaged or not safetensors");
  EXPECT_EQ(
      refusal(R"({"a":)", 0),
      "input: the header is not JSON from its byte 6 on; the file is damaged or not safetensors");
}

TEST(Safetensors, AFileThatShrinksBetweenOpeningAndReadingIsAnError) {
  const Folder folder;
  const std::vector<float> values(1000);
  const lab::TensorRef ref{{"k", DType::f32, {1000}}, values.data()};
  lab::write_safetensors(folder / "t", {&ref, 1});
  const lab::SafetensorsFile file(folder / "t");
  const auto size = std::filesystem::file_size(folder / "t");
  std::filesystem::resize_file(folder / "t", size - 100);
  EXPECT_EQ(sentence([&] { (void)file.read("k"); }),
            folder / "t: the file shrank while it was being read: it had " + std::to_string(size) +
                " bytes when opened and now ends before byte " + std::to_string(size) +
                "; try again when nothing writes to it");
}

// ---- Writing what cannot be written ----

TEST(Safetensors, WhatCannotBeReadBackIsNotWritten) {
  const Folder folder;
  const float value = 0;
  const auto write = [&](std::vector<lab::TensorRef> tensors, const lab::Metadata& metadata = {}) {
    return sentence([&] { lab::write_safetensors(folder / "t", tensors, metadata); }, Code::usage);
  };
  const lab::TensorRef a{{"a", DType::f32, {1}}, &value};
  EXPECT_EQ(write({a, a}),
            folder / "t: two tensors to be written are called 'a'; names must differ");
  EXPECT_EQ(write({{{"__metadata__", DType::f32, {1}}, &value}}),
            folder / "t: a tensor cannot be called '__metadata__'; give it another name");
  EXPECT_EQ(write({{{"a", DType::f32, {1}}, nullptr}}),
            folder / "t: tensor 'a' to be written has no data");
  EXPECT_EQ(write({{{"\xff", DType::f32, {1}}, &value}}),
            folder / R"(t: the name or metadata '\xff' to be written is not UTF-8)");
  EXPECT_EQ(write({a}, {{"k", "\xff"}}),
            folder / R"(t: the name or metadata '\xff' to be written is not UTF-8)");
  const std::string zero("a\0b", 3);
  EXPECT_EQ(write({{{zero, DType::f32, {1}}, &value}}),
            folder / R"(t: the name 'a\x00b' to be written holds a zero byte; names must not)");
  EXPECT_EQ(write({a}, {{zero, "1"}}),
            folder / R"(t: the name 'a\x00b' to be written holds a zero byte; names must not)");
  EXPECT_EQ(write({{{"a", DType::f32, std::vector<std::int64_t>(65, 1)}, &value}}),
            folder / "t: tensor 'a' to be written has 65 dimensions; it may have at most 64");
  EXPECT_EQ(write({{{"a", DType::f32, {-1}}, &value}}),
            "tensor 'a' cannot have the shape [-1]: dimensions must not be negative and its bytes "
            "must fit 63 bits");
  EXPECT_EQ(folder.entries(), 0U);
}

}  // namespace
}  // namespace tamis::test
