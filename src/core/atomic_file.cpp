#include "core/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "core/fail.h"

namespace tamis::core {
namespace {

constexpr std::string_view temporary_begin = ".tamis-";
constexpr std::string_view temporary_end = ".tmp";

bool is_temporary(std::string_view name) {
  return name.starts_with(temporary_begin) && name.ends_with(temporary_end);
}

/// The folder of a file at `path`.
std::filesystem::path folder_of(const std::string& path) {
  auto folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

/// Makes the rename itself durable. A file system that cannot sync folders is not an error, as the
/// file is complete and in place.
void sync_folder_of(const std::string& path) {
  const int fd = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

std::string target_of(const std::string& path) {
  constexpr int most_links = 40;  // as many as Linux follows
  std::filesystem::path at(path);
  std::error_code error;
  for (int links = 0; links <= most_links; ++links) {
    if (!std::filesystem::is_symlink(at, error)) return at.string();
    const auto next = std::filesystem::read_symlink(at, error);
    if (error) return at.string();
    at = at.parent_path() / next;
  }
  fail(Code::usage,
       "{}: is a symbolic link that leads in a circle; give the name of a file to write", path);
}

void AtomicFile::fail_system(std::string_view what) const {
  fail(Code::io, "{}: {}: {}", path_, what, std::generic_category().message(errno));
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  if (path_.empty() || path_.find('\0') != std::string::npos)
    fail(Code::usage,
         "the name of a file to write is empty or holds a zero byte; give the name of a file");
  target_ = target_of(path_);
  struct stat old {
  };  // status of the file that path_ leads to: a pipe may have no name that a link could give
  const bool replaces = ::stat(path_.c_str(), &old) == 0;
  // Errors such as a name that is too long must be found before anything is written.
  if (!replaces && errno != ENOENT) fail_system("no file can be made there");
  if (replaces && S_ISDIR(old.st_mode))
    fail(Code::usage, "{}: is a directory; give the name of a file to write", path_);
  if (replaces && !S_ISREG(old.st_mode))
    fail(Code::usage,
         "{}: is a pipe, a device or a socket; give the name of a regular file to write", path_);
  if (is_temporary(std::filesystem::path(target_).filename().string()))
    fail(Code::usage, "{}: has a name like those of tamis's own temporary files; give another name",
         path_);
  const auto folder = folder_of(target_);
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    fail(Code::io, "{}: there is no folder {}; make it first", path_, folder.string());

  static std::atomic<unsigned> counter{0};
  do {  // repeats if another process has a file of that name
    // The name does not contain the target's, which may already be as long as names can be.
    temporary_ =
        (folder / format("{}{}-{}{}", temporary_begin, ::getpid(), counter++, temporary_end))
            .string();
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

}  // namespace tamis::core
