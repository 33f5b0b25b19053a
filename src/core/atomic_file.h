// A file that appears under its name only when it is complete. It is written under a temporary name
// beside it, synced, then renamed. That costs one fsync of the file and one of its folder.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/inside.h"

namespace tamis::core {

/// If it is destroyed without `commit`, it leaves nothing behind and an old file stays as it was.
class TAMIS_INSIDE AtomicFile {
 public:
  /// Throws `io` if no file can be made at `path`. A symbolic link is followed, even where it leads
  /// to no file yet, and an existing file passes its permissions on. Throws `usage` if `path` is
  /// anything else (a folder, a device), or has a name like those of temporary files, which another
  /// process may take.
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();

 private:
  [[noreturn]] void fail_system(std::string_view what) const;

  std::string path_;       ///< as the caller wrote it, for messages
  std::string target_;     ///< path_ with symbolic links resolved
  std::string temporary_;  ///< empty once renamed
  int fd_ = -1;
};

/// The file that a write to `path` writes: the end of the chain if `path` is a symbolic link,
/// whether a file exists there or not. Throws `usage` for links that lead in a circle.
TAMIS_INSIDE std::string target_of(const std::string& path);

}  // namespace tamis::core
