// tamis manual: prints the whole manual on standard output.
#include <fmt/format.h>

#include "command.h"
#include "text/render.h"

namespace tamis::cli {

Run declare_manual(CLI::App& app, Files& /*files*/, const Globals& /*globals*/) {
  app.description(
      "The manual of all commands\n\n"
      "Prints the manual page, or the same text in Markdown. To read it: tamis manual | man -l -");
  app.footer("tamis manual markdown");
  auto form = std::make_shared<std::string>("man");
  one_of(app.add_option("form", *form, "man (roff, the default) or markdown"), {"man", "markdown"});
  return [&app, form] {
    const ProgramText program = describe_program(app);
    fmt::print("{}", *form == "man" ? man_text(program) : markdown_text(program));
    return 0;
  };
}

}  // namespace tamis::cli
