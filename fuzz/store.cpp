// Opens a store of sweeps for reading and calls all of its queries. SQLite can only read files, so
// the bytes are written to one in a temporary folder of this process. That file and those which
// SQLite creates beside it are removed before every run.
#include <tamis/lab/store.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "target.h"

namespace {

class Folder {
 public:
  Folder() : path_((std::filesystem::temp_directory_path() / "tamis-fuzz-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace

void fuzz_one(std::span<const std::byte> bytes) {
  static const Folder folder;
  for (const char* name : {"s", "s-wal", "s-shm", "s-journal"})
    std::filesystem::remove(folder.file(name));
  const std::string path = folder.file("s");
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  const tamis::lab::SweepStore store(path, tamis::lab::StoreUse::read);
  const std::vector<tamis::lab::SweepPoint> points{
      {R"({"n":1})", 1}, {R"({"n":2})", 1}, {R"({"n":3})", 1}};
  (void)store.look_up("fig3", points);
  (void)store.status();
}
