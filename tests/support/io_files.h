// Shared by tests that read and write files: temporary folders, files made from text, and errors.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tamis/error.h>
#include <tamis/lab/tensor.h>
#include "core/file.h"

namespace tamis::test {

/// A temporary folder, empty at first, that is removed with its contents at the end of the test.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tamis-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string operator/(const std::string& name) const {
    return (path_ / name).string();
  }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_),
                                                  std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path path_;
};

inline void write_text(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// `text` as a byte source called "input". The text must outlive the source.
inline std::unique_ptr<core::ByteSource> source_of(std::string_view text) {
  return core::memory_source("input", std::as_bytes(std::span(text)));
}

/// The message of the error that `call` throws. The test fails if `call` throws nothing or an
/// error with another code.
inline std::string sentence(const std::function<void()>& call, Code code = Code::input) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

/// The bytes of a safetensors file with this header and `data_bytes` zero bytes of data.
inline std::string safetensors_text(std::string_view json, std::size_t data_bytes = 0) {
  const std::uint64_t length = json.size();
  std::string text(reinterpret_cast<const char*>(&length), sizeof length);
  text += json;
  text.append(data_bytes, '\0');
  return text;
}

inline constexpr DType all_dtypes[] = {
    DType::f16, DType::bf16, DType::f32, DType::f64, DType::i8,  DType::i16,    DType::i32,
    DType::i64, DType::u8,   DType::u16, DType::u32, DType::u64, DType::boolean};

}  // namespace tamis::test
