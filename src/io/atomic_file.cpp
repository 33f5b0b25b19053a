#include "io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "core/fail.h"

namespace tamis {
namespace {

/// The file that a write to `path` means: where the link leads, if it is one and leads somewhere.
std::string resolve(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const auto target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

/// Makes the rename itself durable. A file system that cannot sync folders is no reason to fail: the
/// file is complete and in place.
void sync_folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

void AtomicFile::fail_system(std::string_view what) const {
  fail(Code::io, "{}: {}: {}", path_, what, std::generic_category().message(errno));
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  if (path_.empty() || path_.find('\0') != std::string::npos)
    fail(Code::usage, "the name of a file to write is empty or holds a zero byte; give the name of a file");
  target_ = resolve(path_);
  struct stat old {};
  const bool replaces = ::stat(target_.c_str(), &old) == 0;
  if (replaces && S_ISDIR(old.st_mode))
    fail(Code::usage, "{}: is a directory; give the name of a file to write", path_);
  if (replaces && !S_ISREG(old.st_mode))
    fail(Code::usage, "{}: is a pipe, a device or a socket; give the name of a regular file to write",
         path_);

  static std::atomic<unsigned> counter{0};
  do {  // another process may own a name; a name of our own is never far
    temporary_ = fmt::format("{}.tmp-{}-{}", target_, ::getpid(), counter++);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd_ < 0 && errno == EEXIST);
  if (fd_ < 0) {
    temporary_.clear();
    fail_system("no file can be made there");
  }
  if (replaces) (void)::fchmod(fd_, old.st_mode & 0777);
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd_, bytes.data(), bytes.size());
    if (put < 0) {
      if (errno == EINTR) continue;
      fail_system("writing failed, nothing was kept");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void AtomicFile::commit() {
  if (::fsync(fd_) != 0) fail_system("writing failed, nothing was kept");
  const int fd = fd_;
  fd_ = -1;
  if (::close(fd) != 0) fail_system("writing failed, nothing was kept");
  if (::rename(temporary_.c_str(), target_.c_str()) != 0)
    fail_system("the finished file cannot be renamed");
  temporary_.clear();
  sync_folder_of(target_);
}

}  // namespace tamis
