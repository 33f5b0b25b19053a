// The one exception type of tamis. It carries a code for the program and a sentence for a person.
#pragma once

#include <stdexcept>
#include <string>

#include <tamis/export.h>

namespace tamis {

enum class Code : int {
  usage = 1,      ///< the call itself is wrong: an option, a size, a null pointer
  input = 2,      ///< a file or a tensor is invalid, a file cannot be opened, or shrank
  io = 3,         ///< the system failed: disk full, a write refused, a device that cannot be read
  cancelled = 4,  ///< a progress callback asked to stop
  internal = 5,   ///< a defect of tamis, or memory is exhausted
};

/// Thrown for every failure of the library. `what()` is one sentence that names the file, tensor or
/// option at fault and says what would be right. The library never prints, aborts or exits.
class TAMIS_API Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& sentence);
  ~Error() override;
  [[nodiscard]] Code code() const noexcept { return code_; }

 private:
  Code code_;
};

}  // namespace tamis
