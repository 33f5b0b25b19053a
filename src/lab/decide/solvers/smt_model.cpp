#include "lab/decide/solvers/smt_model.h"

#include <charconv>
#include <unordered_map>

namespace tamis::lab::decision {
namespace {

constexpr std::string_view blanks = " \t\r\n";

/// Reads words and brackets one after the other; returns an empty token at the end.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  std::string_view next() {
    text_.remove_prefix(std::min(text_.find_first_not_of(blanks), text_.size()));
    const bool bracket = text_.starts_with('(') || text_.starts_with(')');
    const auto size = bracket ? 1 : std::min(text_.find_first_of(" \t\r\n()"), text_.size());
    const std::string_view token = text_.substr(0, size);
    text_.remove_prefix(size);
    return token;
  }

 private:
  std::string_view text_;
};

std::optional<double> decimal(std::string_view word) {
  if (word.ends_with('?')) word.remove_suffix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

/// A number that begins with the token `first`, such as (- (/ 1 2)), nested at most two levels
/// deep.
std::optional<double> number(Tokens& tokens, std::string_view first, int depth = 0) {
  if (first != "(") return decimal(first);
  if (depth == 2) return std::nullopt;
  const std::string_view operation = tokens.next();
  const auto a = number(tokens, tokens.next(), depth + 1);
  if (!a) return std::nullopt;
  std::string_view after = tokens.next();
  if (operation == "-" && after == ")") return -*a;
  if (operation != "/") return std::nullopt;
  const auto b = number(tokens, after, depth + 1);
  if (!b || tokens.next() != ")") return std::nullopt;
  return *a / *b;
}

}  // namespace

std::string_view smt_verdict(std::string_view output, std::int64_t checks) {
  Tokens tokens(output);
  std::string_view all = "unsat";
  for (; checks > 0; --checks) {
    const std::string_view word = tokens.next();
    if (word == "sat") return word;
    if (word == "unknown") all = word;
    if (word != "unsat" && word != "unknown") return {};
  }
  return all;
}

std::optional<std::vector<double>> smt_values(std::string_view output,
                                              const std::vector<std::string>& names) {
  Tokens tokens(output);
  if (tokens.next() != "sat") return std::nullopt;
  if (names.empty()) return std::vector<double>{};
  if (tokens.next() != "(") return std::nullopt;
  std::unordered_map<std::string_view, double> found;
  for (std::string_view token = tokens.next(); token == "("; token = tokens.next()) {
    const std::string_view name = tokens.next();
    const auto value = number(tokens, tokens.next());
    if (!value || tokens.next() != ")") return std::nullopt;
    found[name] = *value;
  }
  std::vector<double> values;
  for (const std::string& name : names) {
    const auto at = found.find(name);
    if (at == found.end()) return std::nullopt;
    values.push_back(at->second);
  }
  return values;
}

}  // namespace tamis::lab::decision
