// The option --budget: one budget for every head, or the budgets of a profile, one for each head.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tamis/budget.h>
#include <tamis/lab/profile.h>
#include <tamis/lab/trace.h>

namespace tamis::cli {

/// Returns the FILE of "profile:FILE", or nothing if `text` is another budget.
std::optional<std::string> profile_in(const std::string& text);

/// Returns the bits per number that a cache should store if none are asked for: the library's
/// default, or all 16 where a mass budget is too small for it.
int bits_for(std::span<const Budget> budgets);

class Budgets {
 public:
  /// `text` is a budget or profile:FILE. The constructor reads the profile.
  explicit Budgets(const std::string& text);

  /// Returns one budget for all query heads of the layer, or one for each. Throws Error(input),
  /// naming the profile, the layer and the head, if the profile does not fit.
  [[nodiscard]] std::vector<Budget> of_layer(const lab::Trace& trace,
                                             const lab::TraceLayer& layer) const;
  /// The budget as given on the command line, in its shortest form.
  [[nodiscard]] const std::string& text() const { return text_; }
  /// The same without the folders of a profile's path, so that it may go into files for other
  /// people.
  [[nodiscard]] std::string label() const;

 private:
  std::string text_;
  std::string profile_;  ///< if empty, `all_` applies to every head
  Budget all_;
  std::vector<lab::HeadBudget> heads_;
};

}  // namespace tamis::cli
