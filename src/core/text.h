// Text in and out of files: lines, fields and numbers are read in place without allocation, and
// names from files are made safe to show in a message.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/inside.h"

namespace tamis::core {

/// A name that came from a file, in quotes, made `printable` (tamis/text.h), and cut if it is
/// longer than 80 bytes.
TAMIS_INSIDE std::string quote(std::string_view name);

/// Sizes as text, such as "[3, 8192, 64]".
TAMIS_INSIDE std::string shape_text(std::span<const std::int64_t> shape);

/// Offset of the first byte that is not valid UTF-8, if any. Overlong forms and surrogates are
/// not valid.
TAMIS_INSIDE std::optional<std::size_t> first_not_utf8(std::string_view text);

/// The text without the UTF-8 byte order mark that some editors put at the beginning of files.
TAMIS_INSIDE std::string_view without_byte_order_mark(std::string_view text);

/// Iterates over the lines of a text. A line ends with \n or \r\n, or at the end of the text.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  /// Returns false at the end of the text. The line comes without its ending.
  TAMIS_INSIDE bool next(std::string_view& line);
  /// The number of the line that `next` gave last, from 1.
  [[nodiscard]] std::int64_t number() const { return number_; }
  /// The number of bytes after that line.
  [[nodiscard]] std::int64_t bytes_left() const { return static_cast<std::int64_t>(rest_.size()); }

 private:
  std::string_view rest_;
  std::int64_t number_ = 0;
};

/// Removes the next field, which spaces and tabs separate, from the front of `line` and returns it;
/// empty at the end.
TAMIS_INSIDE std::string_view next_field(std::string_view& line);

/// Reads the whole field as a decimal number; a leading + is allowed. Returns nothing for anything
/// else, including NaN, infinity and numbers outside the range of the type.
TAMIS_INSIDE std::optional<std::int64_t> parse_int(std::string_view field);
TAMIS_INSIDE std::optional<double> parse_f64(std::string_view field);
TAMIS_INSIDE std::optional<float> parse_f32(std::string_view field);

}  // namespace tamis::core
