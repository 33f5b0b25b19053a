// One writer for a store: an advisory lock on a file beside it, which the kernel releases when its
// process ends in whatever way. The file holds the process's id, for those who find it taken.
#pragma once

#include <string>

namespace tamis::lab::sweep {

class StoreLock {
 public:
  static constexpr const char* suffix = ".lock";
  /// Throws `io` if another process holds it. `path` is what messages call the store, `place` where
  /// it is.
  StoreLock(const std::string& path, const std::string& place);
  ~StoreLock();
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;

 private:
  std::string file_;
  int fd_ = -1;
};

}  // namespace tamis::lab::sweep
