// Ensures that a store has one writer: an advisory lock on a file beside it, which the kernel
// releases when the process ends for whatever reason. The file contains the id of the process
// that holds it.
#pragma once

#include <string>

namespace tamis::lab::sweep {

class StoreLock {
 public:
  static constexpr const char* suffix = ".lock";
  /// Throws `io` if another process holds the lock, or `usage` if the lock file has other content.
  /// `path` names the store in messages; `place` is its actual path.
  StoreLock(const std::string& path, const std::string& place);
  ~StoreLock();
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;

 private:
  std::string file_;
  int fd_ = -1;
};

}  // namespace tamis::lab::sweep
