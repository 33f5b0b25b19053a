#include "lab/io/npy_header.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "core/fail.h"
#include "core/text.h"
#include "lab/io/tensor_values.h"

namespace tamis::lab::io {
namespace {

/// Reads the dict: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class DictReader {
 public:
  DictReader(const std::string& file, std::string_view text) : file_(file), text_(text) {}

  std::string_view descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;

  void read() {
    bool seen[3] = {};
    expect('{');
    while (!take('}')) {
      const std::string_view key = string();
      expect(':');
      const int field = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (field < 0 || seen[field])
        core::fail(Code::input,
                   "{}: the npy header has the field {} {}; it must have descr, fortran_order and "
                   "shape, once each",
                   file_, core::quote(key), field < 0 ? "that is unknown" : "twice");
      seen[field] = true;
      if (field == 0) read_descr();
      if (field == 1) read_order();
      if (field == 2) read_shape();
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (at_ != text_.size()) fail_here();
    if (!(seen[0] && seen[1] && seen[2]))
      core::fail(Code::input,
                 "{}: the npy header must have the fields descr, fortran_order and shape", file_);
  }

 private:
  [[noreturn]] void fail_here() const {
    core::fail(Code::input,
               "{}: the npy header cannot be read from its byte {} on; it must look like "
               "{{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }}",
               file_, at_);
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail_here();
  }

  std::string_view string() {
    skip_blanks();
    const char mark = at_ < text_.size() ? text_[at_] : '\0';
    if (mark != '\'' && mark != '"') fail_here();
    const std::size_t end = text_.find(mark, at_ + 1);
    if (end == std::string_view::npos) fail_here();
    const std::string_view content = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return content;
  }

  /// Reads letters and digits up to the first other character.
  std::string_view word() {
    skip_blanks();
    const std::size_t begin = at_;
    const auto in_word = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    };
    while (at_ < text_.size() && in_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  void read_descr() {
    skip_blanks();
    if (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '('))
      core::fail(Code::input, "{}: the npy file holds records; it must hold plain numbers", file_);
    descr = string();
  }

  void read_order() {
    const std::string_view order = word();
    if (order != "True" && order != "False") fail_here();
    fortran_order = order == "True";
  }

  void read_shape() {
    expect('(');
    while (!take(')')) {
      std::string_view digits = word();
      if (digits.ends_with('L')) digits.remove_suffix(1);  // Python 2 wrote long integers as 3L
      const auto n = core::parse_int(digits);
      if (!n || shape.size() == most_dimensions)
        core::fail(Code::input,
                   "{}: the npy header's shape must be at most {} whole numbers from 0 to 2^63 − 1",
                   file_, most_dimensions);
      shape.push_back(*n);
      if (!take(',')) {
        expect(')');
        break;
      }
    }
  }

  const std::string& file_;
  std::string_view text_;
  std::size_t at_ = 0;
};

DType dtype_of(const std::string& file, std::string_view descr) {
  if (descr.size() == 3) {
    const char order = descr[0];
    const auto found = std::ranges::find(npy_types, descr.substr(1));
    if (found != npy_types.end()) {
      const auto dtype = static_cast<DType>(found - npy_types.begin());
      const bool order_matters = size_of(dtype) > 1 && dtype != DType::bf16;
      if (order == '<' || (order == '|' && !order_matters)) return dtype;
      if (order == '>' && order_matters)
        core::fail(Code::input,
                   "{}: the npy file is big endian ({}); save it little endian, for example with "
                   "array.astype(array.dtype.newbyteorder('<'))",
                   file, core::quote(descr));
    }
  }
  core::fail(Code::input, "{}: the npy file has elements of type {}; tamis reads {}, little endian",
             file, core::quote(descr), fmt::join(npy_types, ", "));
}

}  // namespace

NpyHeader read_npy_header(const core::ByteSource& source) {
  const std::string& file = source.name();
  std::array<unsigned char, 12> start{};
  const auto have = static_cast<std::size_t>(std::min<std::int64_t>(source.size(), start.size()));
  source.read_at(0, std::as_writable_bytes(std::span(start).first(have)));
  if (have < 10 ||
      !std::equal(npy_magic.begin(), npy_magic.end(), start.begin(),
                  [](char a, unsigned char b) { return static_cast<unsigned char>(a) == b; }))
    core::fail(Code::input,
               "{}: is not an npy file; one begins with \\x93NUMPY, a version and a header length",
               file);
  const int version = start[6];
  if (version < 1 || version > 3 || start[7] != 0)
    core::fail(Code::input, "{}: has npy version {}.{}; tamis reads 1.0, 2.0 and 3.0", file,
               version, start[7]);
  const std::int64_t text_start = version == 1 ? 10 : 12;
  std::int64_t length = start[8] | start[9] << 8;
  if (version > 1)
    length |= static_cast<std::int64_t>(start[10]) << 16 | static_cast<std::int64_t>(start[11])
                                                               << 24;
  if (text_start + length > source.size())
    core::fail(Code::input,
               "{}: the npy header should take {} bytes, but the file has only {}; it is truncated",
               file, length, source.size());
  std::string text(static_cast<std::size_t>(length), '\0');
  source.read_at(text_start, std::as_writable_bytes(std::span(text)));
  DictReader dict(file, text);
  dict.read();

  NpyHeader header{{"", dtype_of(file, dict.descr), std::move(dict.shape)}, text_start + length};
  if (dict.fortran_order && header.info.shape.size() > 1)
    core::fail(Code::input,
               "{}: the npy file is in Fortran order; save it in C order, for example with "
               "numpy.ascontiguousarray",
               file);
  const auto bytes = bytes_of(header.info.dtype, header.info.shape);
  if (!bytes || *bytes != source.size() - header.data_start)
    core::fail(Code::input, "{}: {} {} needs {} bytes, but {} follow the npy header", file,
               tamis::name_of(header.info.dtype), core::shape_text(header.info.shape),
               bytes ? std::to_string(*bytes) : "more than 2^63",
               source.size() - header.data_start);
  return header;
}

}  // namespace tamis::lab::io
