#include <tamis/error.h>

namespace tamis {

Error::Error(Code code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}

// Defined here so that the type's vtable and type information lie in the library, and exceptions
// can be caught outside of it.
Error::~Error() = default;

}  // namespace tamis
