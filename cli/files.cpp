#include "files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>

#include <tamis/error.h>
#include <tamis/lab/store.h>
#include <tamis/lab/tensor.h>
#include <tamis/text.h>

namespace tamis::cli {
namespace {

/// The identity of a file, equal for all its names. `device` and `inode` are those of the file or,
/// if it does not exist yet, of its folder.
struct Place {
  dev_t device = 0;
  ino_t inode = 0;
  std::string name;    ///< in that folder, if the file does not exist yet
  std::string folder;  ///< a path of that folder, if the file does not exist yet
};

/// Returns whether a file system that ignores case could take the two names for the same. Names
/// with letters beyond ASCII always may be: the file system has to answer for them.
bool perhaps_same(std::string_view a, std::string_view b) {
  const auto beyond_ascii = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  if (std::ranges::any_of(a, beyond_ascii) && std::ranges::any_of(b, beyond_ascii)) return true;
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// Returns whether the file system of `folder` takes the two names for the same. Some file systems
/// ignore case, or how accents are written, so this tries both names in a temporary folder. Where
/// that folder cannot be made, no output file can be created either.
bool same_in(const std::string& folder, const std::string& a, const std::string& b) {
  if (a == b) return true;
  if (!perhaps_same(a, b)) return false;
  std::string scratch = folder + "/.tamis-XXXXXX";
  if (::mkdtemp(scratch.data()) == nullptr) return false;
  const std::string first = scratch + '/' + a;
  const int file = ::open(first.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  struct stat found {};
  const bool same = file >= 0 && ::stat((scratch + '/' + b).c_str(), &found) == 0;
  if (file >= 0) ::close(file);
  ::unlink(first.c_str());
  ::rmdir(scratch.c_str());
  return same;
}

bool same(const std::optional<Place>& a, const std::optional<Place>& b) {
  return a && b && a->device == b->device && a->inode == b->inode &&
         same_in(a->folder, a->name, b->name);
}

/// Returns nothing for pipes and devices, which writing does not replace.
std::optional<Place> place_of(const struct stat& file) {
  if (!S_ISREG(file.st_mode)) return {};
  return Place{file.st_dev, file.st_ino, {}, {}};
}

std::optional<Place> place_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0) return place_of(found);
  if (errno != ENOENT) return {};
  const std::filesystem::path target(lab::behind_links(path));
  const std::string folder = target.has_parent_path() ? target.parent_path().string() : ".";
  if (::stat(folder.c_str(), &found) != 0) return {};
  return Place{found.st_dev, found.st_ino, target.filename().string(), folder};
}

std::optional<Place> place_of_standard_output() {
  struct stat found {};
  return ::fstat(STDOUT_FILENO, &found) == 0 ? place_of(found) : std::nullopt;
}

[[noreturn]] void refuse(const std::string& option, const std::string& file,
                         const std::string& why) {
  throw Error(Code::usage, fmt::format("{}: {}: {}", option, printable(file), why));
}

}  // namespace

struct Files::Given {
  std::string option;
  std::string file;
  Use use = Use::read;
  bool beside = false;  ///< the file lies beside the store that `option` names
  std::optional<Place> place;
};

CLI::Option* Files::reads(CLI::Option* option, const char* type, FileIn file_in) {
  all_.push_back({option->type_name(type), Use::read, std::move(file_in)});
  return option;
}

CLI::Option* Files::writes(CLI::Option* option) {
  all_.push_back({option->type_name("FILE"), Use::write, {}});
  return option;
}

CLI::Option* Files::keeps(CLI::Option* option) {
  all_.push_back({option->type_name("FILE"), Use::keep, {}});
  return option;
}

std::vector<Files::Given> Files::given() const {
  std::vector<Given> files;
  for (const auto& [option, use, file_in] : all_)
    for (const std::string& value : option->results()) {
      const std::optional<std::string> file = file_in ? file_in(value) : value;
      if (!file) continue;
      files.push_back({option->get_name(), *file, use, false, place_of(*file)});
      if (use != Use::keep) continue;
      for (const std::string& beside : lab::files_beside_store(*file))
        files.push_back({option->get_name(), beside, Use::write, true, place_of(beside)});
    }
  return files;
}

void Files::check() const {
  const std::vector<Given> files = given();
  const std::optional<Place> shown = place_of_standard_output();
  for (const Given& one : files) {
    if (same(one.place, shown)) {
      // Nothing more may be written to that file, not even the JSON report of this error.
      (void)!std::freopen("/dev/null", "w", stdout);
      refuse(one.option, one.file,
             "is the file that standard output goes to; let that go elsewhere");
    }
    for (const Given& other : std::span(files.data(), &one)) {
      if ((one.use == Use::read && other.use == Use::read) || !same(one.place, other.place))
        continue;
      const auto [beside, itself] = one.beside ? std::pair(&one, &other) : std::pair(&other, &one);
      if (beside->beside)
        refuse(itself->option, itself->file,
               fmt::format("is a name of files beside {}; give another", beside->option));
      const auto [read, written] =
          one.use == Use::read ? std::pair(&one, &other) : std::pair(&other, &one);
      if (read->use == Use::read)
        refuse(written->option, written->file,
               fmt::format("is the file that {} reads; give another name", read->option));
      throw Error(Code::usage, fmt::format("{} and {} name the same file, {}; give two",
                                           other.option, one.option, printable(one.file)));
    }
  }
  for (const Given& one : files) try {
      if (one.use == Use::write && !one.beside) lab::check_writable(one.file);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}: {}", one.option, error.what()));
    }
}

std::vector<lab::TraceLayer> chosen_layers(const lab::Trace& trace,
                                           const std::vector<std::int64_t>& numbers) try {
  return trace.layers(numbers);
} catch (const Error& error) {
  throw Error(error.code(), fmt::format("--layer: {}", error.what()));
}

}  // namespace tamis::cli
