#include "lab/sweep/store_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "core/fail.h"

namespace tamis::lab::sweep {
namespace {

/// The content of the lock file: a process id, or nothing yet. `ours` is false for
/// any other content.
struct Note {
  bool ours = false;
  long pid = 0;
};
Note note_in(int fd) {
  std::array<char, 32> text{};
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  if (size <= 0) return {size == 0, 0};
  Note note;
  const auto [end, error] = std::from_chars(text.data(), text.data() + size, note.pid);
  note.ours = error == std::errc() && end + 1 == text.data() + size && *end == '\n';
  return note;
}

/// Whether `file` is still the file open as fd. The holder deletes the file before it releases the
/// lock, and a lock on a deleted file excludes nobody.
bool still_there(int fd, const std::string& file) {
  struct stat mine {};
  struct stat now {};
  return ::fstat(fd, &mine) == 0 && ::stat(file.c_str(), &now) == 0 && mine.st_ino == now.st_ino &&
         mine.st_dev == now.st_dev;
}

}  // namespace

StoreLock::StoreLock(const std::string& path, const std::string& place) : file_(place + suffix) {
  for (;;) {
    fd_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd_ < 0)
      core::fail(Code::io, "{}: no file can be made beside it: {}", path,
                 std::generic_category().message(errno));
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      const Note note = note_in(fd_);
      ::close(fd_);
      if (error == EWOULDBLOCK)
        core::fail(Code::io, "{}: is being written by {}; wait for its end, or give another store",
                   path, note.pid > 0 ? fmt::format("process {}", note.pid) : "another process");
      core::fail(Code::io, "{}: cannot be locked: {}", path,
                 std::generic_category().message(error));
    }
    if (still_there(fd_, file_)) break;
    ::close(fd_);
  }
  if (!note_in(fd_).ours) {
    ::close(fd_);
    core::fail(Code::usage, "{}: {} beside it is a file of something else; give another store",
               path, file_);
  }
  const std::string pid = fmt::format("{}\n", ::getpid());
  // The process id is used only in messages; the lock holds without it.
  if (::ftruncate(fd_, 0) == 0) (void)!::pwrite(fd_, pid.data(), pid.size(), 0);
}

StoreLock::~StoreLock() {
  ::unlink(file_.c_str());
  ::close(fd_);
}

}  // namespace tamis::lab::sweep
