// Runs a target on the given files and folders without libFuzzer, so that the tests can replay the
// corpora under any compiler and sanitizer. Fails if there is no file, or if a file whose name
// begins with "valid" is rejected.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <tamis/error.h>
#include "target.h"

namespace {

int files = 0;
int wrongly_refused = 0;

void replay(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  ++files;
  try {
    fuzz_one(std::as_bytes(std::span(bytes)));
  } catch (const tamis::Error& error) {
    if (!path.filename().string().starts_with("valid")) return;
    ++wrongly_refused;
    std::printf("%s: %s\n", path.c_str(), error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      replay(argv[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file()) replay(entry.path());
    }
  }
  std::printf("%d inputs replayed, %d wrongly refused\n", files, wrongly_refused);
  return files > 0 && wrongly_refused == 0 ? 0 : 1;
}
