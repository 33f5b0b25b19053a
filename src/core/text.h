// Text in and out of files: lines, fields and numbers read in place without allocation, and names
// from files made fit to be shown in a message.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/inside.h"

namespace tamis::core {

/// A name that came from a file, in quotes: `printable` (tamis/text.h), and cut if it is longer
/// than 80 bytes.
TAMIS_INSIDE std::string quote(std::string_view name);

/// "[3, 8192, 64]"
TAMIS_INSIDE std::string shape_text(std::span<const std::int64_t> shape);

/// Offset of the first byte that is not UTF-8 (overlong forms and surrogates are not), if any.
TAMIS_INSIDE std::optional<std::size_t> first_not_utf8(std::string_view text);

/// The text after the UTF-8 byte order mark that some editors begin files with.
TAMIS_INSIDE std::string_view without_byte_order_mark(std::string_view text);

/// Walks over the lines of a text; a line ends with \n or \r\n, the last one also with the text.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  /// False at the end. The line comes without its ending.
  TAMIS_INSIDE bool next(std::string_view& line);
  /// Of the line that `next` gave last, from 1.
  [[nodiscard]] std::int64_t number() const { return number_; }
  /// Bytes after that line.
  [[nodiscard]] std::int64_t bytes_left() const { return static_cast<std::int64_t>(rest_.size()); }

 private:
  std::string_view rest_;
  std::int64_t number_ = 0;
};

/// Takes the next field, separated by spaces and tabs, off the front of `line`; empty at the end.
TAMIS_INSIDE std::string_view next_field(std::string_view& line);

/// The whole field as a number, or nothing: in decimal, a leading + allowed, no NaN or infinity,
/// and nothing outside the range of the type.
TAMIS_INSIDE std::optional<std::int64_t> parse_int(std::string_view field);
TAMIS_INSIDE std::optional<double> parse_f64(std::string_view field);
TAMIS_INSIDE std::optional<float> parse_f32(std::string_view field);

}  // namespace tamis::core
