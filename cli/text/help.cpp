// --help: plain text for a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "text/render.h"

namespace tamis::cli {
namespace {

constexpr std::size_t width = 80;

/// Returns `text` in lines of at most `width` columns. All lines but the first are indented by
/// `indent`; `used` columns of the first line are already taken.
std::string wrap(const std::string& text, std::size_t indent, std::size_t used) {
  std::istringstream words(text);
  std::string out;
  std::size_t column = used;
  for (std::string word; words >> word;) {
    if (column > indent && column + 1 + word.size() > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out + '\n';
}

std::string entries(const std::string& title, const std::vector<OptionText>& items) {
  if (items.empty()) return {};
  std::size_t column = 0;
  for (const OptionText& item : items) column = std::max(column, item.heading().size());
  column = std::min<std::size_t>(column, 24) + 4;
  std::string out = "\n" + title + ":\n";
  for (const OptionText& item : items) {
    std::string line = "  " + item.heading();
    if (line.size() + 2 > column) {
      out += line + '\n';
      line.clear();
    }
    line.resize(column, ' ');
    out += line + wrap(item.repeats ? item.text + " (may be given more than once)" : item.text,
                       column, column);
  }
  return out;
}

std::string body_text(const std::vector<Paragraph>& body) {
  std::string out;
  for (const Paragraph& paragraph : body) {
    out += '\n';
    if (!paragraph.verbatim) {
      out += wrap(paragraph.text, 0, 0);
      continue;
    }
    std::istringstream lines(paragraph.text);
    for (std::string line; std::getline(lines, line);) out += "  " + line + '\n';
  }
  return out;
}

}  // namespace

std::string help_text(const CLI::App& app) {
  const ProgramText program = describe_program(app);
  const CommandText command = describe_command(app);
  const bool whole = command.name == program.program.name;
  std::string out = fmt::format("{}: {}\n\nUsage: {}\n", command.full_name(), command.summary,
                                whole ? "tamis COMMAND [options]" : command.usage());
  out += body_text(command.body);
  if (whole) {
    std::vector<OptionText> commands;
    for (const CommandText& sub : program.commands) {
      OptionText item;
      item.value = sub.name;
      item.text = sub.summary;
      commands.push_back(std::move(item));
    }
    out += entries("Commands", commands);
  }
  out += entries("Arguments", command.positionals);
  if (!whole) out += entries("Options", command.options);
  out += entries("Global options", program.program.options);
  if (whole) {
    out += entries("Environment", environment());
    out += entries("Exit status", exit_statuses());
    out += "\nSee tamis COMMAND --help for a command, tamis manual for all of it.\n";
  } else {
    out += fmt::format("\nExample:\n  {}\n", command.example);
  }
  return out;
}

}  // namespace tamis::cli
