#include "decide/scratch.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/fail.h"

namespace tamis {

Scratch::Scratch() {
  std::error_code error;
  const auto root = std::filesystem::temp_directory_path(error);
  if (error)
    fail(Code::io, "there is no folder for temporary files ({}); set TMPDIR to one", error.message());
  folder_ = (root / "tamis-XXXXXX").string();
  if (::mkdtemp(folder_.data()) == nullptr)
    fail(Code::io, "{}: no folder can be made there: {}", root.string(),
         std::generic_category().message(errno));
}

Scratch::~Scratch() {
  std::error_code ignored;  // a file that stays behind is no reason to end a program
  std::filesystem::remove_all(folder_, ignored);
}

std::string Scratch::path(std::string_view name) const {
  return (std::filesystem::path(folder_) / name).string();
}

std::string Scratch::write(std::string_view name, std::string_view text) const {
  const std::string to = path(name);
  std::ofstream file(to, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.flush()) fail(Code::io, "{}: writing failed; is the disk full?", to);
  return to;
}

}  // namespace tamis
