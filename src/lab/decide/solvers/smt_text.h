// Writes SMT-LIB 2 over the reals, term by term. Numbers that are fixed or follow from others
// become definitions, so that conditions are written in the same way for all.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tamis::lab::decision {

/// A sum of terms; "0.0" if there are none.
inline std::string smt_sum(const std::vector<std::string>& terms) {
  if (terms.empty()) return "0.0";
  if (terms.size() == 1) return terms[0];
  return fmt::format("(+ {})", fmt::join(terms, " "));
}

inline std::string smt_sign(std::string_view term, bool positive) {
  return fmt::format("(assert ({} {} 0.0))\n", positive ? ">" : "<", term);
}

class SmtText {
 public:
  explicit SmtText(const std::string& comment) : text_(comment + "(set-logic QF_NRA)\n") {}

  void unknown(const std::string& name) {
    text_ += fmt::format("(declare-const {} Real)\n", name);
    unknowns_.push_back(name);
  }
  void define(const std::string& name, std::string_view term) {
    text_ += fmt::format("(define-fun {} () Real {})\n", name, term);
  }
  void require_sign(std::string_view term, bool positive) { text_ += smt_sign(term, positive); }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::vector<std::string>& unknowns() const { return unknowns_; }

 private:
  std::string text_;
  std::vector<std::string> unknowns_;
};

}  // namespace tamis::lab::decision
