// Text: from a file, fit to be shown; to a file, whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include <tamis/export.h>

namespace tamis {

/// Control characters (those of ASCII and U+0080 to U+009F), which could steer a terminal, and
/// bytes that are not UTF-8 are written as \xNN; all else stays.
[[nodiscard]] TAMIS_API std::string printable(std::string_view text);

/// Writes under a temporary name beside `path`, syncs, then renames: `path` is never half written.
TAMIS_API void write_text(const std::string& path, std::string_view text);

}  // namespace tamis
