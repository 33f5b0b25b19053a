// The manual page in roff, with the man macros.
#include <fmt/format.h>

#include <cctype>
#include <sstream>

#include <tamis/info.h>

#include "text/render.h"

namespace tamis::cli {
namespace {

/// Escapes text for roff, in which backslashes and leading dots and quotes are commands and a
/// plain hyphen is typographic.
std::string roff(const std::string& text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    line_start = c == '\n';
  }
  return out;
}

std::string entries(const std::vector<OptionText>& items) {
  std::string out;
  for (const OptionText& item : items) {
    out += fmt::format(".TP\n.B {}\n{}{}\n", roff(item.heading()), roff(item.text),
                       item.repeats ? " (may be given more than once)" : "");
  }
  return out;
}

std::string body_text(const std::vector<Paragraph>& body) {
  std::string out;
  for (const Paragraph& paragraph : body)
    out += paragraph.verbatim ? fmt::format(".PP\n.RS\n.nf\n{}\n.fi\n.RE\n", roff(paragraph.text))
                              : fmt::format(".PP\n{}\n", roff(paragraph.text));
  return out;
}

}  // namespace

std::string man_text(const ProgramText& program) {
  std::string out = fmt::format(".TH TAMIS 1 \"\" \"tamis {}\" \"User Commands\"\n", version());
  out += fmt::format(".SH NAME\ntamis \\- {}\n", roff(program.program.summary));
  out += ".SH SYNOPSIS\n";
  for (const CommandText& command : program.commands)
    out += fmt::format(".B {}\n.br\n", roff(command.usage()));
  out += ".SH DESCRIPTION\n" + body_text(program.program.body);
  out += ".SH GLOBAL OPTIONS\nBefore or after the command.\n" + entries(program.program.options);
  out += ".SH COMMANDS\n";
  for (const CommandText& command : program.commands) {
    out += fmt::format(".SS {}\n{}.\n", roff(command.usage()), roff(command.summary));
    out += body_text(command.body) + entries(command.positionals) + entries(command.options);
    out += fmt::format(".PP\nExample:\n.PP\n.RS\n.nf\n{}\n.fi\n.RE\n", roff(command.example));
  }
  out += ".SH ENVIRONMENT\n" + entries(environment());
  out += ".SH EXIT STATUS\n" + entries(exit_statuses());
  return out;
}

}  // namespace tamis::cli
