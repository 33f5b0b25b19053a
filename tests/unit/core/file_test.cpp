// Byte sources, and files that are written completely or not at all.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "core/atomic_file.h"
#include "core/file.h"
#include "support/io_files.h"

namespace tamis::test {
namespace {

TEST(File, WhatIsNoReadableFileIsRefusedInOneSentence) {
  const Folder folder;
  EXPECT_EQ(sentence([&] { core::open_file(folder / "absent"); }),
            folder / "absent: there is no such file");
  EXPECT_EQ(sentence([&] { core::open_file(folder.path()); }),
            folder.path() + ": is a directory; give the name of a file");
  EXPECT_EQ(sentence([&] { core::open_file(""); }),
            "the name of a file to read is empty or holds a zero byte; give the name of a file");
  EXPECT_EQ(sentence([&] { core::open_file(std::string("a\0b", 3)); }),
            "the name of a file to read is empty or holds a zero byte; give the name of a file");
  EXPECT_EQ(sentence([&] { core::open_file("/dev/null"); }),
            "/dev/null: is a pipe, a device or a socket; give the name of a regular file");
}

TEST(File, APipeThatNobodyWritesToIsRefusedWithoutWaiting) {
  const Folder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(sentence([&] { core::open_file(pipe); }),
            pipe + ": is a pipe, a device or a socket; give the name of a regular file");
}

TEST(File, AFileWithoutPermissionIsRefused) {
  const Folder folder;
  const std::string path = folder / "secret";
  write_text(path, "x");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  const uid_t me = ::geteuid();
  ASSERT_EQ(::seteuid(me == 0 ? 65534 : me), 0);  // root may read every file
  const std::string said = sentence([&] { core::open_file(path); });
  ASSERT_EQ(::seteuid(me), 0);
  EXPECT_EQ(said, path + ": this user has no permission to read the file");
}

TEST(File, AFileThatShrinksAfterItWasOpenedIsAnError) {
  const Folder folder;
  const std::string path = folder / "shrinking";
  write_text(path, "0123456789");
  const auto source = core::open_file(path);
  ASSERT_EQ(source->size(), 10);
  std::filesystem::resize_file(path, 4);
  EXPECT_EQ(
      sentence([&] { core::read_all(*source); }),
      path +
          ": the file shrank while it was being read: it had 10 bytes when opened and now ends "
          "before byte 10; try again when nothing writes to it");
}

TEST(File, BytesComeFromWhereTheyAreAskedFor) {
  const Folder folder;
  write_text(folder / "digits", "0123456789");
  const auto file = core::open_file(folder / "digits");
  const auto memory = source_of("0123456789");
  for (const core::ByteSource* source : {file.get(), memory.get()}) {
    std::string three(3, ' ');
    source->read_at(5, std::as_writable_bytes(std::span(three)));
    EXPECT_EQ(three, "567");
    EXPECT_EQ(core::read_all(*source), "0123456789");
    sentence([&] { source->read_at(8, std::as_writable_bytes(std::span(three))); });
  }
}

TEST(AtomicFile, NothingIsSeenUnderTheNameBeforeCommit) {
  const Folder folder;
  const std::string path = folder / "result";
  {
    core::AtomicFile file(path);
    file.write("half");
    EXPECT_FALSE(std::filesystem::exists(path));
    file.write(" and half");
    file.commit();
  }
  EXPECT_EQ(read_text(path), "half and half");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(AtomicFile, AbandonedItLeavesTheOldFileAndNothingElse) {
  const Folder folder;
  write_text(folder / "result", "old");
  {
    core::AtomicFile file(folder / "result");
    file.write("new");
  }
  EXPECT_EQ(read_text(folder / "result"), "old");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(AtomicFile, AWriteThatTheSystemRefusesLeavesNothing) {
  const Folder folder;
  // A limit on file sizes makes writes fail as on a full disk.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::vector<std::byte> bytes(8192);
  const std::string said = sentence(
      [&] {
        const lab::TensorRef tensor{{"t", DType::u8, {8192}}, bytes.data()};
        lab::write_safetensors(folder / "result", {&tensor, 1});
      },
      Code::io);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(said, folder / "result: writing failed, nothing was kept: File too large");
  EXPECT_EQ(folder.entries(), 0U);
}

TEST(AtomicFile, PlacesWhereNoFileCanBeAreRefused) {
  const Folder folder;
  EXPECT_EQ(
      sentence([&] { core::AtomicFile file(folder / "absent/result"); }, Code::io),
      folder / "absent/result: there is no folder " + folder.path() + "/absent; make it first");
  EXPECT_EQ(sentence([&] { core::AtomicFile file(folder.path()); }, Code::usage),
            folder.path() + ": is a directory; give the name of a file to write");
  // For root, renaming over a device would replace it.
  EXPECT_EQ(sentence([] { core::AtomicFile file("/dev/null"); }, Code::usage),
            "/dev/null: is a pipe, a device or a socket; give the name of a regular file to write");
  EXPECT_EQ(folder.entries(), 0U);
}

TEST(AtomicFile, AFolderThatCannotBeWrittenInIsRefusedEvenBehindALink) {
  const Folder folder;
  const Folder locked;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(locked.path().c_str(), 0555), 0);
  std::filesystem::create_symlink(locked / "result", folder / "link");
  const uid_t me = ::geteuid();
  ASSERT_EQ(::seteuid(me == 0 ? 65534 : me), 0);  // root may write everywhere
  const std::string said = sentence([&] { lab::check_writable(folder / "link"); }, Code::io);
  ASSERT_EQ(::seteuid(me), 0);
  EXPECT_EQ(said, folder / "link: no file can be made there: Permission denied");
}

TEST(AtomicFile, ANameMayBeAsLongAsTheSystemAllows) {
  const Folder folder;
  const std::string longest = folder / std::string(255, 'x');
  core::AtomicFile file(longest);
  file.write("new");
  file.commit();
  EXPECT_EQ(read_text(longest), "new");
  EXPECT_EQ(sentence([&] { core::AtomicFile longer(longest + "x"); }, Code::io),
            longest + "x: no file can be made there: File name too long");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(AtomicFile, ALinkToNoFileYetIsFollowed) {
  const Folder folder;
  ASSERT_TRUE(std::filesystem::create_directory(folder / "there"));
  std::filesystem::create_symlink("there/next", folder / "link");
  std::filesystem::create_symlink("../real", folder / "there/next");
  core::AtomicFile file(folder / "link");
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "there/next"));
  EXPECT_EQ(read_text(folder / "real"), "new");
  EXPECT_EQ(folder.entries(), 3U);

  std::filesystem::create_symlink("absent/result", folder / "astray");
  EXPECT_EQ(sentence([&] { core::AtomicFile astray(folder / "astray"); }, Code::io),
            folder / "astray: there is no folder " + folder.path() + "/absent; make it first");
  std::filesystem::create_symlink("circle", folder / "circle");
  EXPECT_EQ(
      sentence([&] { core::AtomicFile circle(folder / "circle"); }, Code::usage),
      folder /
          "circle: is a symbolic link that leads in a circle; give the name of a file to write");
}

TEST(AtomicFile, NamesOfTemporaryFilesAreRefused) {
  const Folder folder;
  std::filesystem::create_symlink(".tamis-1-0.tmp", folder / "link");
  for (const std::string& path : {folder / ".tamis-1-0.tmp", folder / "link"})
    EXPECT_EQ(sentence([&] { core::AtomicFile file(path); }, Code::usage),
              path + ": has a name like those of tamis's own temporary files; give another name");
  lab::check_writable(folder / "tamis-1-0.tmp");
}

TEST(AtomicFile, APipeBehindALinkIsRefusedThoughItHasNoName) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const std::string path = fmt::format("/proc/self/fd/{}", ends[1]);
  EXPECT_EQ(sentence([&] { core::AtomicFile file(path); }, Code::usage),
            path + ": is a pipe, a device or a socket; give the name of a regular file to write");
  for (const int end : ends) ::close(end);
}

TEST(AtomicFile, AskingWhetherAFileCanBeWrittenLeavesNothing) {
  const Folder folder;
  write_text(folder / "old", "old");
  lab::check_writable(folder / "old");
  lab::check_writable(folder / "new");
  EXPECT_EQ(read_text(folder / "old"), "old");
  EXPECT_EQ(folder.entries(), 1U);
  EXPECT_EQ(sentence([&] { lab::check_writable(""); }, Code::usage),
            "the name of a file to write is empty or holds a zero byte; give the name of a file");
}

TEST(AtomicFile, PermissionsAndLinksOfTheOldFileStay) {
  const Folder folder;
  write_text(folder / "real", "old");
  ASSERT_EQ(::chmod((folder / "real").c_str(), 0600), 0);
  std::filesystem::create_symlink("real", folder / "link");
  core::AtomicFile file(folder / "link");
  file.write("new");
  file.commit();
  EXPECT_EQ(read_text(folder / "real"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(std::filesystem::status(folder / "real").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

}  // namespace
}  // namespace tamis::test
