#include "lab/decide/solvers/subprocess.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/fail.h"

namespace tamis::lab::decision {
namespace {

constexpr int poll_ms = 20;

[[noreturn]] void fail_system(const std::string& name, const char* what) {
  core::fail(Code::io, "{} cannot be run: {}: {}", name, what,
             std::generic_category().message(errno));
}

/// Owns a file descriptor. It keeps it above 2, so that no dup2 in the child has equal arguments
/// when the caller has closed its standard streams.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {
    if (fd_ < 0 || fd_ > STDERR_FILENO) return;
    fd_ = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    ::close(fd);
  }
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read, write;
};
Pipe make_pipe(const std::string& name) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail_system(name, "no pipe can be made");
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  if (!pipe.read.open() || !pipe.write.open()) fail_system(name, "no pipe can be made");
  ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

/// What the child needs. All of it is made before the fork: afterwards the heap may be locked by a
/// thread that does not exist in the child.
struct Start {
  std::string path;
  std::vector<char*> argv;
  Pipe output, errors, trouble;
  Descriptor input;
  rlim_t cpu_seconds = 0;
  const ProgramLimits* limits = nullptr;
  pid_t parent = 0;
};

/// Becomes the program. Makes only calls that are safe after a fork of a process with threads.
/// Signals stay blocked until the handlers of the caller's program are gone; its signal mask and
/// ignored signals are not passed on.
[[noreturn]] void become(const Start& start) {
  const auto limit = [](auto what, rlim_t soft, rlim_t hard) {
    const struct rlimit value { soft, hard };
    return ::setrlimit(what, &value) == 0;
  };
  const auto memory = static_cast<rlim_t>(start.limits->memory_bytes);
  const auto file = static_cast<rlim_t>(start.limits->file_bytes);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &standard, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::setpgid(0, 0);
  errno = ESRCH;
  bool good = ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == start.parent;
  good = good && ::dup2(start.input.get(), STDIN_FILENO) >= 0 &&
         ::dup2(start.output.write.get(), STDOUT_FILENO) >= 0 &&
         ::dup2(start.errors.write.get(), STDERR_FILENO) >= 0;
  good = good && limit(RLIMIT_CORE, 0, 0) && limit(RLIMIT_FSIZE, file, file) &&
         limit(RLIMIT_CPU, start.cpu_seconds, start.cpu_seconds + 1) &&
         limit(RLIMIT_AS, memory, memory);
  // Descriptors that the caller's program opened without O_CLOEXEC are not passed on, where Linux
  // has this call (5.11).
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  if (good) {
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execv(start.path.c_str(), start.argv.data());
  }
  const int error = errno;
  (void)!::write(start.trouble.write.get(), &error, sizeof error);
  ::_exit(127);
}

/// The child process and its group; the destructor kills both.
class Child {
 public:
  explicit Child(const Start& start, const std::string& name) {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_ = ::fork();
    if (pid_ == 0) become(start);
    const int error = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    if (pid_ < 0) fail_system(name, "no process can be made");
    ::setpgid(pid_, pid_);  // the child does the same; whichever comes first
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Whether it has ended by itself. It stays a zombie, so that its id remains valid until `end`.
  [[nodiscard]] bool ended() const {
    siginfo_t info{};
    const int got = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    return got != 0 ? errno == ECHILD : info.si_pid == pid_;
  }
  /// Kills the rest of the group and reaps the process. `status` stays −1 if the system no longer
  /// has it.
  void end() {
    if (pid_ < 0) return;
    ::kill(-pid_, SIGKILL);
    int raw = 0;
    pid_t got = 0;
    do got = ::wait4(pid_, &raw, 0, &usage);
    while (got < 0 && errno == EINTR);
    if (got == pid_) status = raw;
    pid_ = -1;
  }

  int status = -1;  ///< as wait4 returns it
  struct rusage usage {};

 private:
  pid_t pid_ = -1;
};

/// Reads what is available, at most 16 pipefuls, since a program may write faster than this reads.
/// Closes `from` at the end of the stream.
void drain(Descriptor& from, std::string& into, std::size_t limit, bool& truncated) {
  std::array<char, 65536> buffer;
  for (int times = 0; times < 16 && from.open(); ++times) {
    const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return from.close();
    const auto room = std::min(static_cast<std::size_t>(got), limit - into.size());
    into.append(buffer.data(), room);
    truncated |= room < static_cast<std::size_t>(got);
  }
}

bool complains_of_memory(std::string_view text) {
  for (const std::string_view words :
       {"bad_alloc", "out of memory", "out-of-memory", "Cannot allocate memory",
        "cannot allocate memory", "memory exhausted"})
    if (text.find(words) != std::string_view::npos) return true;
  return false;
}

void judge(const Child& child, rlim_t cpu_seconds, ProgramRun& run) {
  run.ended = Ended::exited;
  if (child.status == -1) return;
  if (WIFEXITED(child.status)) run.status = WEXITSTATUS(child.status);
  if (run.status == 0) return;
  const int signal = WIFSIGNALED(child.status) ? WTERMSIG(child.status) : 0;
  const bool used_up =
      static_cast<rlim_t>(child.usage.ru_utime.tv_sec + child.usage.ru_stime.tv_sec) >= cpu_seconds;
  if (signal == SIGXCPU || (signal == SIGKILL && used_up))
    run.ended = Ended::time;
  else if (signal == SIGKILL || complains_of_memory(run.errors) || complains_of_memory(run.output))
    run.ended = Ended::memory;  // only the system kills, for want of memory
  else if (signal != 0)
    run.ended = Ended::failed;
}

}  // namespace

std::string find_program(const std::string& name) {
  const auto executable = [](const std::string& path) {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.empty()) return {};
  if (name.find('/') != std::string::npos) return executable(name) ? name : std::string{};
  const char* set = std::getenv("PATH");
  std::string_view folders = set != nullptr ? set : "/usr/local/bin:/usr/bin:/bin";
  while (!folders.empty()) {
    const auto end = std::min(folders.find(':'), folders.size());
    std::string path = std::string(folders.substr(0, end)) + "/" + name;
    if (folders.front() == '/' && executable(path)) return path;
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  return {};
}

ProgramRun run_program(const std::string& name, const std::vector<std::string>& arguments,
                       const ProgramLimits& limits, Clock::Part& part) {
  ProgramRun run;
  Start start;
  start.path = find_program(name);
  if (start.path.empty()) return run;
  run.ended = Ended::time;
  if (part.over()) return run;

  // Execv does not write to its arguments.
  start.argv.push_back(const_cast<char*>(start.path.c_str()));
  for (const std::string& argument : arguments)
    start.argv.push_back(const_cast<char*>(argument.c_str()));
  start.argv.push_back(nullptr);
  start.output = make_pipe(name);
  start.errors = make_pipe(name);
  start.trouble = make_pipe(name);
  start.input = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!start.input.open()) fail_system(name, "/dev/null cannot be opened");
  start.limits = &limits;
  start.parent = ::getpid();
  // The wall clock decides; this limit matters if this process is stopped meanwhile.
  start.cpu_seconds = static_cast<rlim_t>(std::min(part.left(), 1e9)) + 2;

  const auto begin = std::chrono::steady_clock::now();
  Child child(start, name);
  start.output.write.close();
  start.errors.write.close();
  start.trouble.write.close();

  bool stopped = false;
  const auto read_all = [&] {
    drain(start.output.read, run.output, limits.output_bytes, run.truncated);
    drain(start.errors.read, run.errors, limits.output_bytes, run.truncated);
  };
  while (!child.ended()) {
    if (part.over()) {
      stopped = true;
      break;
    }
    std::array<pollfd, 2> streams = {pollfd{start.output.read.get(), POLLIN, 0},
                                     pollfd{start.errors.read.get(), POLLIN, 0}};
    // If both streams are closed, the program is about to end.
    const bool watching = start.output.read.open() || start.errors.read.open();
    ::poll(streams.data(), streams.size(), watching ? poll_ms : 1);
    read_all();
  }
  child.end();
  read_all();
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  int error = 0;
  if (::read(start.trouble.read.get(), &error, sizeof error) == sizeof error) {
    run.ended = Ended::failed;
    run.errors = std::generic_category().message(error);
  } else if (!stopped) {
    judge(child, start.cpu_seconds, run);
  }
  return run;
}

}  // namespace tamis::lab::decision
