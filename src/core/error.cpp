#include <tamis/error.h>

namespace tamis {

Error::Error(Code code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}

// Defined here so that the type's identity lives in the library: catching works across it.
Error::~Error() = default;

}  // namespace tamis
