// A key that stands twice in one object of a JSON file: readers differ in which of the two they
// take, so that a file could say one thing to one and another to the next.
#pragma once

#include <string>
#include <string_view>

namespace tamis::lab::io {

/// Throws `input`, naming `file` and the key, if an object of the text has two members of one name.
/// Text that is not JSON is somebody else's to refuse. Memory: the keys of the objects that are
/// open at a time.
void refuse_repeated_keys(const std::string& file, std::string_view text);

}  // namespace tamis::lab::io
