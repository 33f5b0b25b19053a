// Checks of the files that a command is given, made before its work starts rather than hours
// later.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tamis/lab/trace.h>

namespace tamis::cli {

/// The files of a command, declared with the options and arguments that name them. A command must
/// not write to a file that it reads, nor write two outputs to one file.
class Files {
 public:
  /// Returns the file that the value of an option names, or nothing if it names none.
  using FileIn = std::function<std::optional<std::string>(const std::string& value)>;

  /// These declare how the command uses the file that `option` names, and return `option`. `type`
  /// is the name of the value in help texts.
  CLI::Option* reads(CLI::Option* option, const char* type, FileIn file_in = {});
  CLI::Option* writes(CLI::Option* option);  ///< a new file replaces the old one, if any
  CLI::Option* keeps(CLI::Option* option);   ///< a store of sweeps, with the files beside it

  /// Throws Error(usage) if two of the files that were given are the same file and one of them is
  /// written, or if one of them is the file behind standard output. Then throws the error that
  /// writing each output would throw. Leaves nothing behind.
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

/// Declares the option or argument `name` as a trace that the command reads, and returns it.
template <class Path>
CLI::Option* add_trace(CLI::App& app, Files& files, const char* name, Path& path) {
  return files.reads(app.add_option(name, path, "a trace (safetensors; format in docs/trace.md)"),
                     "TRACE");
}

/// Returns the layers asked for by --layer, in the order of the trace, or all layers if none was.
/// Throws Error(usage) if the trace lacks one of them.
std::vector<lab::TraceLayer> chosen_layers(const lab::Trace& trace,
                                           const std::vector<std::int64_t>& numbers);

}  // namespace tamis::cli
