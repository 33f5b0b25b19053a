// A private folder for what another program reads and writes, removed with its owner. If the owner
// was killed, the next process that makes such a folder removes it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tamis::lab::decision {

class TempFolder {
 public:
  /// Makes the folder, for this user alone, in the system's temporary folder. The first one of a
  /// process also calls `clear_left_folders` there. Throws `io` if it cannot make one.
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  /// The path of a file of that name in the folder.
  [[nodiscard]] std::string path(std::string_view name) const;
  /// Writes a file there and returns its path. Throws `io` if that fails.
  [[nodiscard]] std::string write(std::string_view name, std::string_view text) const;

 private:
  std::string folder_;
  int lock_ = -1;  ///< held on a file of the folder while the owner lives
};

/// Removes the folders in `root` that a TempFolder of this user made and whose process has ended;
/// returns their number. Such a folder is recognised by its lock, which the kernel releases however
/// a process ends; process ids would not do, because they are reused. A lock is known on one
/// machine only, so the lock file also names the machine since its last start, and folders of other
/// machines stay. Links are not followed, and only files are removed from such a folder.
std::size_t clear_left_folders(const std::string& root);

}  // namespace tamis::lab::decision
