// A private folder for what another program reads and writes, gone with its owner. One whose owner
// was killed is cleared away by the next process that makes one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tamis::lab::decision {

class TempFolder {
 public:
  /// Makes the folder, for this user alone, among the system's temporary files. The first of a
  /// process also clears folders that were left there. Throws `io` if it cannot make one.
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  /// The path of a file of that name in the folder.
  [[nodiscard]] std::string path(std::string_view name) const;
  /// Writes a file there and returns its path. Throws `io`.
  [[nodiscard]] std::string write(std::string_view name, std::string_view text) const;

 private:
  std::string folder_;
  int lock_ = -1;  ///< held on a file of the folder as long as this process lives
};

/// Removes the folders in `root` that a TempFolder of this user made and whose process has ended,
/// and says how many. The sign of that is their lock, which the kernel lets go when a process ends
/// in whatever way: process ids are used again. It is a lock of one machine, so the lock's file
/// also says which one, as it was last started; what another left in a shared folder stays. Links
/// are not followed, and nothing but files is removed from such a folder.
std::size_t clear_left_folders(const std::string& root);

}  // namespace tamis::lab::decision
