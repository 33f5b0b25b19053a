// Programs end when their limits say so, and leave nothing behind.
#include "lab/decide/solvers/subprocess.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "lab/decide/solvers/temp_folder.h"

namespace tamis::test {
namespace {

const ProgressCallback silent;

lab::decision::ProgramRun run_for(double seconds, const std::string& name,
                                  const std::vector<std::string>& arguments,
                                  const lab::decision::ProgramLimits& limits = {}) {
  lab::decision::Clock clock(seconds, silent);
  lab::decision::Clock::Part part(clock, seconds);
  return lab::decision::run_program(name, arguments, limits, part);
}
lab::decision::ProgramRun shell(const std::string& script, double seconds = 60,
                                const lab::decision::ProgramLimits& limits = {}) {
  return run_for(seconds, "sh", {"-c", script}, limits);
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

bool no_children() { return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

bool alive(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::stringstream text;
  text << file.rdbuf();
  return !text.str().empty() && text.str().find(") Z ") == std::string::npos;
}

/// Makes the process ignore SIGCHLD while the object lives.
class IgnoringChildren {
 public:
  IgnoringChildren() { before_ = ::signal(SIGCHLD, SIG_IGN); }
  ~IgnoringChildren() { ::signal(SIGCHLD, before_); }

 private:
  void (*before_)(int);
};

TEST(Program, ReturnsStatusOutputAndErrors) {
  const lab::decision::ProgramRun run = shell("echo out; echo err >&2; exit 10");
  EXPECT_EQ(run.ended, lab::decision::Ended::exited);
  EXPECT_EQ(run.status, 10);
  EXPECT_EQ(run.output, "out\n");
  EXPECT_EQ(run.errors, "err\n");
  EXPECT_FALSE(run.truncated);
}

TEST(Program, PassesArgumentsAsTheyAre) {
  EXPECT_EQ(run_for(60, "printf", {"%s|", "a b", "$HOME", "", "*;\n"}).output, "a b|$HOME||*;\n|");
}

TEST(Program, HasAnEmptyInput) {
  EXPECT_EQ(run_for(60, "cat", {}).ended, lab::decision::Ended::exited);
}

TEST(Program, ThatIsNotInstalledIsAbsent) {
  EXPECT_EQ(run_for(60, "tamis-no-such-program", {}).ended, lab::decision::Ended::absent);
  EXPECT_EQ(run_for(60, "/tamis/no/such/program", {}).ended, lab::decision::Ended::absent);
  EXPECT_EQ(run_for(60, "", {}).ended, lab::decision::Ended::absent);
  EXPECT_EQ(run_for(60, "/tmp", {}).ended, lab::decision::Ended::absent);
}

TEST(Program, ThatTheSystemCannotStartFails) {
  const lab::decision::TempFolder folder;
  const std::string path = folder.write("broken",
                                        "\x7f"
                                        "ELF, but no more");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  const lab::decision::ProgramRun run = run_for(60, path, {});
  EXPECT_EQ(run.ended, lab::decision::Ended::failed);
  EXPECT_FALSE(run.errors.empty());
}

TEST(Program, IsKilledWithAllItStartedWhenTimeIsOver) {
  const lab::decision::ProgramRun run = shell("sleep 1000 & echo $!; sleep 1000", 0.3);
  EXPECT_EQ(run.ended, lab::decision::Ended::time);
  EXPECT_GE(run.seconds, 0.25);
  const std::string pid = run.output.substr(0, run.output.find('\n'));
  ASSERT_FALSE(pid.empty());
  while (alive(pid)) std::this_thread::yield();  // killed already; the system may need a moment
}

TEST(Program, LeavesNoneOfItsOwnProgramsBehindWhenItEnds) {
  const lab::decision::ProgramRun run = shell("sleep 1000 & echo $!");
  EXPECT_EQ(run.ended, lab::decision::Ended::exited);
  EXPECT_EQ(run.status, 0);
  const std::string pid = run.output.substr(0, run.output.find('\n'));
  while (alive(pid)) std::this_thread::yield();
}

TEST(Program, IsKilledWhenTheCallerSaysStop) {
  int asked = 0;
  const ProgressCallback stop = [&](double, double) { return ++asked < 3; };
  lab::decision::Clock clock(1000, stop);
  lab::decision::Clock::Part part(clock, 1000);
  EXPECT_EQ(lab::decision::run_program("sleep", {"1000"}, {}, part).ended,
            lab::decision::Ended::time);
  EXPECT_TRUE(clock.interrupted());
}

TEST(Program, IsKilledWhenTheCallerThrows) {
  int asked = 0;
  const ProgressCallback thrower = [&](double, double) -> bool {
    if (++asked == 3) throw std::runtime_error("enough");
    return true;
  };
  lab::decision::Clock clock(1000, thrower);
  lab::decision::Clock::Part part(clock, 1000);
  EXPECT_THROW(lab::decision::run_program("sleep", {"1000"}, {}, part), std::runtime_error);
  EXPECT_TRUE(no_children());
}

TEST(Program, IsStoppedByTheLimitOfMemory) {
  lab::decision::ProgramLimits limits;
  limits.memory_bytes = 64 << 20;
  // tail keeps its input, which has no line ends, and doubles its buffer until
  // memory is exhausted.
  const lab::decision::ProgramRun run =
      run_for(60, "env", {"LC_ALL=C", "tail", "/dev/zero"}, limits);
  EXPECT_EQ(run.ended, lab::decision::Ended::memory) << run.errors;
}

TEST(Program, IsStoppedByTheLimitOfFiles) {
  const lab::decision::TempFolder folder;
  lab::decision::ProgramLimits limits;
  limits.file_bytes = 4096;
  const lab::decision::ProgramRun run = run_for(
      60, "dd", {"if=/dev/zero", "of=" + folder.path("long"), "bs=1024", "count=8"}, limits);
  EXPECT_EQ(run.ended, lab::decision::Ended::failed);
  EXPECT_EQ(std::filesystem::file_size(folder.path("long")), 4096U);
}

TEST(Program, OutputBeyondItsLimitIsReadAndNotKept) {
  lab::decision::ProgramLimits limits;
  limits.output_bytes = 1000;
  const lab::decision::ProgramRun run = run_for(60, "head", {"-c", "1000000", "/dev/zero"}, limits);
  EXPECT_EQ(run.ended, lab::decision::Ended::exited);
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.output.size(), 1000U);
  EXPECT_TRUE(run.truncated);
  EXPECT_EQ(run_for(0.2, "yes", {}, limits).ended, lab::decision::Ended::time);
}

TEST(Program, LeavesNeitherDescriptorsNorZombies) {
  const std::size_t before = open_descriptors();
  for (int time = 0; time < 5; ++time) {
    shell("exit 0");
    shell("sleep 1000", 0.05);
    run_for(1, "tamis-no-such-program", {});
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_TRUE(no_children());
}

TEST(Program, IsHandedNoDescriptorButItsStreams) {
  // ls itself opens a descriptor for the folder that it lists.
  EXPECT_EQ(run_for(60, "ls", {"/proc/self/fd"}).output, "0\n1\n2\n3\n");
}

TEST(Program, IsHandedNoSignalThatTheCallerIgnoresOrBlocks) {
  void (*const before)(int) = ::signal(SIGUSR1, SIG_IGN);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGUSR2);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  EXPECT_EQ(shell("kill -USR1 $$; exit 0").ended, lab::decision::Ended::failed);
  EXPECT_EQ(shell("kill -USR2 $$; exit 0").ended, lab::decision::Ended::failed);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::signal(SIGUSR1, before);
}

TEST(Program, RunsWhereChildrenAreIgnoredButWithoutAStatus) {
  const IgnoringChildren ignoring;
  const lab::decision::ProgramRun run = shell("echo unsat; exit 3");
  EXPECT_EQ(run.ended, lab::decision::Ended::exited);
  EXPECT_EQ(run.status, -1);
  EXPECT_EQ(run.output, "unsat\n");
  EXPECT_EQ(shell("sleep 1000", 0.1).ended, lab::decision::Ended::time);
}

TEST(Program, RunsOnManyThreads) {
  std::vector<std::thread> threads;
  std::array<bool, 4> good{};
  for (std::size_t t = 0; t < good.size(); ++t)
    threads.emplace_back([t, &good] {
      bool all = true;
      for (int time = 0; time < 10; ++time)
        all = all && shell("echo " + std::to_string(t)).output == std::to_string(t) + "\n";
      good[t] = all;
    });
  for (std::thread& thread : threads) thread.join();
  for (const bool each : good) EXPECT_TRUE(each);
  EXPECT_TRUE(no_children());
}

TEST(TempFolders, ArePrivateAndGoWithTheirOwner) {
  std::string path;
  {
    const lab::decision::TempFolder folder;
    path = folder.write("problem.smt2", "(check-sat)");
    const auto status = std::filesystem::status(std::filesystem::path(path).parent_path());
    EXPECT_EQ(status.permissions(), std::filesystem::perms::owner_all);
    EXPECT_EQ(run_for(60, "cat", {path}).output, "(check-sat)");
  }
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(path).parent_path()));
}

/// Makes temporary files go to a folder of the test.
class LeftFolders : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* before = ::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", root().c_str(), 1);
  }
  void TearDown() override {
    before_ ? ::setenv("TMPDIR", before_->c_str(), 1) : ::unsetenv("TMPDIR");
    std::filesystem::permissions(root(), std::filesystem::perms::owner_all);
  }
  [[nodiscard]] std::string root() const { return root_.path("tmp"); }
  [[nodiscard]] std::string root_file(const char* name) const { return root_.path(name); }

  /// What is left by a process that makes a folder with a file in it and is killed.
  std::filesystem::path leave() const {
    const pid_t child = ::fork();
    if (child == 0)
      [&]() noexcept {
        const lab::decision::TempFolder folder;
        (void)folder.write("problem.smt2", "(check-sat)");
        ::raise(SIGKILL);
      }();
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    std::filesystem::path left;
    for (const auto& entry : std::filesystem::directory_iterator(root()))
      if (std::filesystem::exists(entry.path() / "problem.smt2")) left = entry.path();
    EXPECT_FALSE(left.empty());
    return left;
  }

 private:
  lab::decision::TempFolder root_;
  const bool made_ = std::filesystem::create_directory(root_.path("tmp"));
  std::optional<std::string> before_;
};

TEST_F(LeftFolders, AreClearedOnceTheirProcessIsGone) {
  const lab::decision::TempFolder mine;
  const std::string kept = mine.write("kept", "still in use");
  const std::filesystem::path left = leave();
  EXPECT_EQ(lab::decision::clear_left_folders(root()), 1U);
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(kept));
  EXPECT_EQ(lab::decision::clear_left_folders(root()), 0U);
}

TEST_F(LeftFolders, AreClearedByTheNextProcess) {
  const std::filesystem::path left = leave();
  const pid_t child = ::fork();
  if (child == 0) {
    for (const char* of_this_run : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX", "GTEST_OUTPUT"})
      ::unsetenv(of_this_run);
    ::execl("/proc/self/exe", "tests", "--gtest_filter=TempFolders.*", nullptr);
    ::_exit(1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(std::filesystem::exists(left));
}

TEST_F(LeftFolders, OfAnotherMachineStay) {
  const std::filesystem::path left = leave();
  std::string machine;
  std::getline(std::ifstream(left / ".lock") >> std::ws, machine);
  EXPECT_FALSE(machine.empty());
  machine[0] = machine[0] == '0' ? '1' : '0';
  for (const std::string& said : {machine, std::string(), machine + "0"}) {
    std::ofstream(left / ".lock") << said;
    EXPECT_EQ(lab::decision::clear_left_folders(root()), 0U);
    EXPECT_TRUE(std::filesystem::exists(left / "problem.smt2"));
  }
}

TEST_F(LeftFolders, AreNotFoundThroughLinksOrWithoutTheirLock) {
  const std::filesystem::path left = leave();
  const std::filesystem::path elsewhere = root_file("elsewhere");
  std::filesystem::rename(left, elsewhere);
  std::filesystem::create_symlink(elsewhere, left);
  EXPECT_EQ(lab::decision::clear_left_folders(root()), 0U);
  std::filesystem::remove(left);
  std::filesystem::rename(elsewhere, left);
  std::filesystem::rename(left / ".lock", elsewhere);
  EXPECT_EQ(lab::decision::clear_left_folders(root()), 0U);
  std::filesystem::create_symlink(elsewhere, left / ".lock");
  EXPECT_EQ(lab::decision::clear_left_folders(root()), 0U);
  EXPECT_TRUE(std::filesystem::exists(left / "problem.smt2"));
}

TEST_F(LeftFolders, WithAFolderInsideKeepIt) {
  const std::filesystem::path left = leave();
  std::filesystem::create_directories(left / "mine");
  std::ofstream(left / "mine" / "file") << "kept";
  EXPECT_EQ(lab::decision::clear_left_folders(root()), 0U);
  EXPECT_TRUE(std::filesystem::exists(left / "mine" / "file"));
}

}  // namespace
}  // namespace tamis::test
