// A private folder for what another program reads and writes, gone with its owner.
#pragma once

#include <string>
#include <string_view>

namespace tamis {

class Scratch {
 public:
  /// Makes the folder, for this user alone, among the system's temporary files. Throws `io` if it cannot.
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// The path of a file of that name in the folder.
  [[nodiscard]] std::string path(std::string_view name) const;
  /// Writes a file there and returns its path. Throws `io`.
  [[nodiscard]] std::string write(std::string_view name, std::string_view text) const;

 private:
  std::string folder_;
};

}  // namespace tamis
