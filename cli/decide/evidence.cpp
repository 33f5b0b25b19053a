#include "decide/evidence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include <tamis/text.h>

namespace tamis::cli {
namespace {

class Names {
 public:
  explicit Names(const lab::Pattern& pattern) : pattern_(pattern), words_(words_of(pattern)) {}

  [[nodiscard]] std::string row(std::int64_t i) const {
    return i == lab::ones_row ? "the row of ones" : words_.row + " " + bare_row(i);
  }
  [[nodiscard]] std::string column(std::int64_t j) const {
    return words_.column + " " + bare_column(j);
  }
  [[nodiscard]] std::string rows(const std::vector<std::int64_t>& list) const {
    return words_.rows + " " + joined(list, [this](std::int64_t i) { return bare_row(i); });
  }
  [[nodiscard]] std::string columns(const std::vector<std::int64_t>& list) const {
    return words_.columns + " " + joined(list, [this](std::int64_t j) { return bare_column(j); });
  }
  [[nodiscard]] const Words& words() const { return words_; }

 private:
  static std::string name_or_number(const std::vector<std::string>& names, std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    return at < names.size() ? printable(names[at]) : std::to_string(i);
  }
  [[nodiscard]] std::string bare_row(std::int64_t i) const {
    return i == lab::ones_row ? "(ones)" : name_or_number(pattern_.row_names, i);
  }
  [[nodiscard]] std::string bare_column(std::int64_t j) const {
    return name_or_number(pattern_.column_names, j);
  }
  template <class Name>
  static std::string joined(const std::vector<std::int64_t>& list, Name name) {
    constexpr std::size_t most = 16;
    std::vector<std::string> shown;
    for (std::size_t i = 0; i < std::min(most, list.size()); ++i) shown.push_back(name(list[i]));
    return fmt::format("{}{}", fmt::join(shown, ", "),
                       list.size() > most ? fmt::format(" and {} more", list.size() - most) : "");
  }

  const lab::Pattern& pattern_;
  Words words_;
};

std::string words(const Names& names, const lab::Relation& r) {
  if (r.a == r.b)
    return fmt::format("{} has {} and not {}", names.row(r.a), names.column(r.first),
                       names.column(r.second));
  if (r.same)
    return fmt::format("{} and {} look the same way: both have {}, neither has {}", names.row(r.a),
                       names.row(r.b), names.column(r.first), names.column(r.second));
  return fmt::format("{} and {} look opposite ways: one has only {}, the other only {}",
                     names.row(r.a), names.row(r.b), names.column(r.first), names.column(r.second));
}

std::string words(const Names& names, const lab::OddCircle& circle) {
  const auto& relations = circle.relations;
  if (relations.size() == 2 && relations[0].same != relations[1].same) {
    const lab::Relation& same = relations[relations[0].same ? 0 : 1];
    const lab::Relation& opposite = relations[relations[0].same ? 1 : 0];
    return fmt::format(
        "{} and {} cross: both have {}, neither has {}, one has only {}, the other only {}.",
        names.row(opposite.a), names.row(opposite.b), names.column(same.first),
        names.column(same.second), names.column(opposite.first), names.column(opposite.second));
  }
  std::vector<std::string> parts;
  for (const lab::Relation& relation : circle.relations) parts.push_back(words(names, relation));
  return fmt::format("On a line {}. These cannot all be.", fmt::join(parts, "; "));
}

std::string words(const Names& names, const lab::SignOfC& sign) {
  // A row trivially has the same direction as itself, so that relation is left out.
  const std::string turn = sign.t == sign.apart.a ? "" : words(names, sign.turn) + "; ";
  return fmt::format("{}; {}{} has {} and not {}", words(names, sign.apart), turn,
                     names.row(sign.t), names.column(sign.apart.a), names.column(sign.apart.b));
}

std::string words(const Names& names, const lab::SignConflict& conflict) {
  return fmt::format("With L = c*x*x^T, c must be positive ({}) and negative ({}).",
                     words(names, conflict.plus), words(names, conflict.minus));
}

std::string words(const Names& names, const lab::FullSet& set) {
  return fmt::format(
      "Every way to divide {} in two is cut out by one of {}; in fewer than {} dimensions one is "
      "not (Radon).",
      set.of_columns ? names.columns(set.elements) : names.rows(set.elements),
      set.of_columns ? names.rows(set.cuts) : names.columns(set.cuts), set.elements.size() - 1);
}

std::string words(const Names& names, const lab::Spectral& spectral) {
  return fmt::format(
      "The weighted signs of {} {} and {} {} have too small a spectral norm (Forster).",
      spectral.rows.size(), names.words().rows, spectral.columns.size(), names.words().columns);
}

std::string words(const Names& names, const lab::OrderProof& proof) {
  return fmt::format("No order type of {} leaves {} {} possible: a proof of {} clauses.",
                     proof.of_columns ? names.columns(proof.elements) : names.rows(proof.elements),
                     proof.cuts.size(),
                     proof.of_columns ? names.words().rows : names.words().columns,
                     proof.clauses.size());
}

std::string words(const Names& /*names*/, const lab::SolverSaid& said) {
  std::vector<std::string> runs;
  for (const lab::SolverSaid::Run& run : said.runs)
    runs.push_back(fmt::format("{}: {} in {:.2f} s", printable(run.program), printable(run.answer),
                               run.seconds));
  return fmt::format("The word of a solver, not a proof ({}).", fmt::join(runs, "; "));
}

}  // namespace

Words words_of(const lab::Pattern& pattern) {
  if (pattern.row_names.empty()) return {"row", "rows", "column", "columns"};
  return {"query", "queries", "document", "documents"};
}

std::string refutation_words(const lab::Pattern& pattern, const lab::Refutation& refutation) {
  const Names names(pattern);
  return std::visit([&](const auto& grounds) { return words(names, grounds); }, refutation.grounds);
}

nlohmann::ordered_json refutation_json(const lab::Refutation& refutation) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(lab::refutation_text(refutation));
  for (const char* member : {"format", "version", "tamis", "clauses", "problem"})
    json.erase(member);
  return json;
}

}  // namespace tamis::cli
