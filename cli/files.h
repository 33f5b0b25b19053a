// What commands ask of the files they are given, before hours of work rather than after.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tamis/lab/trace.h>

namespace tamis::cli {

/// The files of a command, declared with the options and arguments that name them. No command may
/// write to what it reads, nor to one file twice.
class Files {
 public:
  /// The file that a value names, if it names one.
  using FileIn = std::function<std::optional<std::string>(const std::string& value)>;

  /// Declares what becomes of the file that `option` names; returns it. `type` is what help calls
  /// the value.
  CLI::Option* reads(CLI::Option* option, const char* type, FileIn file_in = {});
  CLI::Option* writes(CLI::Option* option);  ///< a new file in place of the old one, if any
  CLI::Option* keeps(CLI::Option* option);   ///< a store of sweeps, which has files beside its own

  /// Throws `usage` if two of the files that were given, or one and that of standard output, are
  /// the same, unless they are only read; then whatever writing them would throw. Leaves nothing
  /// behind.
  void check() const;

 private:
  enum class Use { read, write, keep };
  struct Declared {
    CLI::Option* option;
    Use use;
    FileIn file_in;
  };
  struct Given;
  [[nodiscard]] std::vector<Given> given() const;

  std::vector<Declared> all_;
};

/// The layers asked for by --layer, in the order of the trace; all if none was.
std::vector<lab::TraceLayer> chosen_layers(const lab::Trace& trace,
                                           const std::vector<std::int64_t>& numbers);

}  // namespace tamis::cli
