// The manual as docs/cli.md.
#include <fmt/format.h>

#include "text/render.h"

namespace tamis::cli {
namespace {

std::string entries(const std::vector<OptionText>& items) {
  if (items.empty()) return {};
  std::string out = "\n";
  for (const OptionText& item : items)
    out += fmt::format("- `{}`: {}{}\n", item.heading(), item.text,
                       item.repeats ? " (may be given more than once)" : "");
  return out;
}

std::string body_text(const std::vector<Paragraph>& body) {
  std::string out;
  for (const Paragraph& paragraph : body)
    out += paragraph.verbatim ? fmt::format("\n```text\n{}\n```\n", paragraph.text)
                              : fmt::format("\n{}\n", paragraph.text);
  return out;
}

}  // namespace

std::string markdown_text(const ProgramText& program) {
  std::string out = fmt::format("# tamis: {}\n\n", program.program.summary);
  out += "Printed by `tamis manual markdown`; the same text is `tamis --help` and `man tamis`.\n";
  out += body_text(program.program.body);
  out += "\n## Global options\n\nBefore or after the command.\n" + entries(program.program.options);
  for (const CommandText& command : program.commands) {
    out += fmt::format("\n## {}\n\n{}.\n\n```text\n{}\n```\n", command.full_name(), command.summary,
                       command.usage());
    out += body_text(command.body) + entries(command.positionals) + entries(command.options);
    out += fmt::format("\nExample:\n\n```sh\n{}\n```\n", command.example);
  }
  out += "\n## Environment\n" + entries(environment());
  out += "\n## Exit status\n" + entries(exit_statuses());
  return out;
}

}  // namespace tamis::cli
