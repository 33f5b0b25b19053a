// --budget: one budget for every head, or a profile's budget for each.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tamis/budget.h>
#include <tamis/lab/profile.h>
#include <tamis/lab/trace.h>

namespace tamis::cli {

/// The file of profile:FILE.
std::optional<std::string> profile_in(const std::string& text);

/// Bits that a cache should store of a number, unless something else is asked for: the library's
/// default, or all 16 where a budget of mass is too small for that.
int bits_for(std::span<const Budget> budgets);

class Budgets {
 public:
  /// `text` is a budget or profile:FILE, which is read here.
  explicit Budgets(const std::string& text);

  /// One budget for all query heads of the layer, or one for each. Throws `input`, naming the
  /// profile, the layer and the head, if the profile does not fit.
  [[nodiscard]] std::vector<Budget> of_layer(const lab::Trace& trace,
                                             const lab::TraceLayer& layer) const;
  /// As given on the command line; budgets in their shortest form.
  [[nodiscard]] const std::string& text() const { return text_; }
  /// The same, without the folders of a profile: fit for a file that others read.
  [[nodiscard]] std::string label() const;

 private:
  std::string text_;
  std::string profile_;  ///< empty: `all_` holds for every head
  Budget all_;
  std::vector<lab::HeadBudget> heads_;
};

}  // namespace tamis::cli
