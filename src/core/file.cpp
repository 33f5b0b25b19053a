#include "core/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "core/fail.h"

namespace tamis::core {
namespace {

[[noreturn]] void fail_shrunk(const ByteSource& source, std::int64_t end) {
  fail(Code::input,
       "{}: the file shrank while it was being read: it had {} bytes when opened and now ends "
       "before byte {}; try again when nothing writes to it",
       source.name(), source.size(), end);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

class FileSource final : public ByteSource {
 public:
  FileSource(const std::string& path, Descriptor fd, std::int64_t size)
      : ByteSource(path, size), fd_(std::move(fd)) {}

  void read_at(std::int64_t offset, std::span<std::byte> out) const override {
    const std::int64_t end = offset + static_cast<std::int64_t>(out.size());
    while (!out.empty()) {
      const ssize_t got = ::pread(fd_.get(), out.data(), out.size(), offset);
      if (got < 0) {
        if (errno == EINTR) continue;
        fail(Code::io, "{}: reading at byte {} failed: {}", name(), offset,
             std::generic_category().message(errno));
      }
      if (got == 0) fail_shrunk(*this, end);
      out = out.subspan(static_cast<std::size_t>(got));
      offset += got;
    }
  }

 private:
  Descriptor fd_;
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, std::span<const std::byte> bytes)
      : ByteSource(std::move(name), static_cast<std::int64_t>(bytes.size())), bytes_(bytes) {}

  void read_at(std::int64_t offset, std::span<std::byte> out) const override {
    const std::int64_t end = offset + static_cast<std::int64_t>(out.size());
    if (end > size()) fail_shrunk(*this, end);
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

ByteSource::~ByteSource() = default;

std::unique_ptr<ByteSource> open_file(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos)
    fail(Code::input,
         "the name of a file to read is empty or holds a zero byte; give the name of a file");
  // Without O_NONBLOCK, opening a FIFO that nobody writes to would wait forever.
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) {
    if (errno == ENOENT) fail(Code::input, "{}: there is no such file", path);
    if (errno == EACCES)
      fail(Code::input, "{}: this user has no permission to read the file", path);
    fail(Code::input, "{}: the file cannot be opened: {}", path,
         std::generic_category().message(errno));
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0)
    fail(Code::io, "{}: the file cannot be examined: {}", path,
         std::generic_category().message(errno));
  if (S_ISDIR(status.st_mode))
    fail(Code::input, "{}: is a directory; give the name of a file", path);
  if (!S_ISREG(status.st_mode))
    fail(Code::input, "{}: is a pipe, a device or a socket; give the name of a regular file", path);
  return std::make_unique<FileSource>(path, std::move(fd), status.st_size);
}

std::unique_ptr<ByteSource> memory_source(std::string name, std::span<const std::byte> bytes) {
  return std::make_unique<MemorySource>(std::move(name), bytes);
}

std::string read_all(const ByteSource& source) {
  std::string text;
  try {
    text.resize(static_cast<std::size_t>(source.size()));
  } catch (const std::bad_alloc&) {
    fail(Code::internal, "{}: there is no memory for the file's {} bytes", source.name(),
         source.size());
  }
  source.read_at(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace tamis::core
