#include "core/text.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include <tamis/text.h>

#include "core/atomic_file.h"
#include "core/format.h"

namespace tamis {
namespace {

/// Length of the UTF-8 sequence that `text` begins with, or 0 if it does not begin with one.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [text](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto follows = [byte](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;   // no overlong form
    const unsigned high = first == 0xED ? 0x9F : 0xBF;  // no surrogate
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;  // nothing above U+10FFFF
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

/// Removes the first character of `from` and appends it to `to` in the form that `printable` gives.
void move_printable(std::string_view& from, std::string& to) {
  const std::size_t length = sequence_length(from);
  const std::string_view character = from.substr(0, length == 0 ? 1 : length);
  const auto byte = [character](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  const bool control =
      byte(0) < 0x20 || byte(0) == 0x7F || (byte(0) == 0xC2 && length == 2 && byte(1) < 0xA0);
  if (length == 0 || control) {
    for (std::size_t i = 0; i < character.size(); ++i) to += core::format("\\x{:02x}", byte(i));
  } else {
    to += character;
  }
  from.remove_prefix(character.size());
}

template <class Number>
std::optional<Number> parse_whole(std::string_view field) {
  if (field.size() > 1 && field[0] == '+' && field[1] != '-') field.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc{} || end != field.data() + field.size()) return std::nullopt;
  return value;
}

template <class Real>
std::optional<Real> parse_finite(std::string_view field) {
  const auto value = parse_whole<Real>(field);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) move_printable(text, shown);
  return shown;
}

std::string core::quote(std::string_view name) {
  constexpr std::size_t longest = 80;
  std::string text = "'";
  while (!name.empty() && text.size() <= longest) move_printable(name, text);
  return text + (name.empty() ? "'" : "…'");
}

std::string core::shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(size);
  }
  return text + "]";
}

std::optional<std::size_t> core::first_not_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequence_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

std::string_view core::without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  if (text.starts_with(mark)) text.remove_prefix(mark.size());
  return text;
}

bool core::Lines::next(std::string_view& line) {
  if (rest_.empty()) return false;
  const auto* newline = static_cast<const char*>(std::memchr(rest_.data(), '\n', rest_.size()));
  const std::size_t length =
      newline ? static_cast<std::size_t>(newline - rest_.data()) : rest_.size();
  line = rest_.substr(0, length);
  rest_.remove_prefix(newline ? length + 1 : length);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  ++number_;
  return true;
}

std::string_view core::next_field(std::string_view& line) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  std::size_t begin = 0;
  while (begin < line.size() && blank(line[begin])) ++begin;
  std::size_t end = begin;
  while (end < line.size() && !blank(line[end])) ++end;
  const std::string_view field = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return field;
}

std::optional<std::int64_t> core::parse_int(std::string_view field) {
  return parse_whole<std::int64_t>(field);
}
std::optional<double> core::parse_f64(std::string_view field) {
  return parse_finite<double>(field);
}
std::optional<float> core::parse_f32(std::string_view field) { return parse_finite<float>(field); }

void write_text(const std::string& path, std::string_view text) {
  core::AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace tamis
