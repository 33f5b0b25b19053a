// Refuses JSON objects that contain a key twice. Programs differ in which of the two values they
// use, so such a file could mean different things to different readers.
#pragma once

#include <string>
#include <string_view>

namespace tamis::lab::io {

/// Throws `input`, naming `file` and the key, if an object of the text has two members of one name.
/// Text that is not JSON passes; the caller's parser refuses it. Memory: the keys of the objects
/// that are open at the same time.
void refuse_repeated_keys(const std::string& file, std::string_view text);

}  // namespace tamis::lab::io
