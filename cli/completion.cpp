// tamis completion: prints a script that teaches a shell the commands, options and values.
#include <fmt/format.h>

#include "command.h"
#include "text/render.h"

namespace tamis::cli {

Run declare_completion(CLI::App& app, Files& /*files*/, const Globals& /*globals*/) {
  app.description(
      "A completion script for a shell\n\n"
      "Installed packages place these scripts where shells look for them. Without installing:\n\n"
      "  bash   source <(tamis completion bash)\n"
      "  zsh    source <(tamis completion zsh)     after compinit\n"
      "  fish   tamis completion fish | source");
  app.footer("tamis completion bash");
  auto shell = std::make_shared<std::string>();
  CLI::Option* option = app.add_option("shell", *shell, "the shell")->required();
  one_of(option, {"bash", "zsh", "fish"});
  return [&app, shell] {
    const ProgramText program = describe_program(app);
    fmt::print("{}", *shell == "bash"  ? bash_completion(program)
                     : *shell == "zsh" ? zsh_completion(program)
                                       : fish_completion(program));
    return 0;
  };
}

}  // namespace tamis::cli
