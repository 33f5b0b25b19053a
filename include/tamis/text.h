// Text from files made safe to display, and text files that are written completely or not at all.
#pragma once

#include <string>
#include <string_view>

#include <tamis/export.h>

namespace tamis {

/// Replaces control characters (those of ASCII and U+0080 to U+009F), which could control a
/// terminal, and bytes that are not UTF-8 by \xNN. Everything else stays.
[[nodiscard]] TAMIS_API std::string printable(std::string_view text);

/// Writes under a temporary name beside `path`, syncs, then renames, so that `path` is written
/// completely or not at all.
TAMIS_API void write_text(const std::string& path, std::string_view text);

}  // namespace tamis
