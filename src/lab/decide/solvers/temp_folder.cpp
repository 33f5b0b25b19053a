#include "lab/decide/solvers/temp_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <system_error>
#include <vector>

#include "core/fail.h"

namespace tamis::lab::decision {
namespace {

constexpr std::string_view name_begins = "tamis-decide-";
constexpr const char* lock_name = ".lock";

/// An id of this machine since its last start. Empty where the system does not give one; then no
/// folder is ever cleared.
std::string this_machine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

/// Owns a file descriptor.
class Opened {
 public:
  explicit Opened(int fd) : fd_(fd) {}
  ~Opened() {
    if (fd_ >= 0) ::close(fd_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

bool is_ours(int fd, mode_t type) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == type &&
         status.st_uid == ::geteuid();
}

/// The names of the entries of a folder.
std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const listing = again >= 0 ? ::fdopendir(again) : nullptr;
  if (listing == nullptr) {
    if (again >= 0) ::close(again);
    return names;
  }
  while (const dirent* entry = ::readdir(listing)) names.emplace_back(entry->d_name);
  ::closedir(listing);
  return names;
}

/// Makes and holds the lock of a new folder. The machine's id is written once the lock is held, so
/// a folder that has an id is locked or its process has ended. Where the file system has no locks,
/// no id is written, and the folder is never cleared by others.
int hold_lock(const std::string& folder) {
  const int lock = ::open((folder + "/" + lock_name).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                          S_IRUSR | S_IWUSR);
  int said = -1;
  // Waits at most while another process checks whether it is held.
  do said = ::flock(lock, LOCK_EX);
  while (said != 0 && errno == EINTR);
  const std::string machine = this_machine();
  if (said == 0) (void)!::write(lock, machine.data(), machine.size());
  return lock;
}

/// Removes the folder if its process has ended; returns whether it did. The lock is removed last,
/// so that the rest of an interrupted removal is still recognised.
bool clear_if_left(int root, const std::string& name, const std::string& machine) {
  const Opened folder(
      ::openat(root, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.get() < 0 || !is_ours(folder.get(), S_IFDIR)) return false;
  const Opened lock(
      ::openat(folder.get(), lock_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (lock.get() < 0 || !is_ours(lock.get(), S_IFREG)) return false;
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return false;
  std::string said(machine.size() + 1, '\0');
  const ssize_t size = ::pread(lock.get(), said.data(), said.size(), 0);
  if (size != static_cast<ssize_t>(machine.size()) || !said.starts_with(machine)) return false;
  for (const std::string& file : names_in(folder.get()))
    if (file != lock_name) ::unlinkat(folder.get(), file.c_str(), 0);
  ::unlinkat(folder.get(), lock_name, 0);
  return ::unlinkat(root, name.c_str(), AT_REMOVEDIR) == 0;
}

}  // namespace

std::size_t clear_left_folders(const std::string& root) {
  const std::string machine = this_machine();
  const Opened folder(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (machine.empty() || folder.get() < 0) return 0;
  std::size_t cleared = 0;
  for (const std::string& name : names_in(folder.get()))
    if (name.starts_with(name_begins) && clear_if_left(folder.get(), name, machine)) ++cleared;
  return cleared;
}

TempFolder::TempFolder() {
  std::error_code error;
  const auto root = std::filesystem::temp_directory_path(error);
  if (error)
    core::fail(Code::io, "there is no folder for temporary files ({}); set TMPDIR to one",
               error.message());
  static std::once_flag once;
  std::call_once(once, [&] { clear_left_folders(root.string()); });
  folder_ = (root / (std::string(name_begins) + "XXXXXX")).string();
  if (::mkdtemp(folder_.data()) == nullptr)
    core::fail(Code::io, "{}: no folder can be made there: {}", root.string(),
               std::generic_category().message(errno));
  lock_ = hold_lock(folder_);
}

TempFolder::~TempFolder() {
  std::error_code ignored;  // a file that stays behind is no reason to end a program
  std::filesystem::remove_all(folder_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

std::string TempFolder::path(std::string_view name) const {
  return (std::filesystem::path(folder_) / name).string();
}

std::string TempFolder::write(std::string_view name, std::string_view text) const {
  std::string to = path(name);
  std::ofstream file(to, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.flush()) core::fail(Code::io, "{}: writing failed; is the disk full?", to);
  return to;
}

}  // namespace tamis::lab::decision
