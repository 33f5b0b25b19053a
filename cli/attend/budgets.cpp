#include "attend/budgets.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <tamis/cache.h>
#include <tamis/error.h>

namespace tamis::cli {
namespace {

constexpr std::string_view profile_prefix = "profile:";

}  // namespace

std::optional<std::string> profile_in(const std::string& text) {
  if (!text.starts_with(profile_prefix)) return {};
  return text.substr(profile_prefix.size());
}

int bits_for(std::span<const Budget> budgets) {
  constexpr double proved_by_12_bits = 0.02;
  const bool small = std::ranges::any_of(budgets, [](const Budget& budget) {
    return budget.kind == Budget::Kind::mass && budget.eps < proved_by_12_bits;
  });
  return small ? 16 : CacheOptions().bits;
}

Budgets::Budgets(const std::string& text) try : text_(text) {
  const std::optional<std::string> profile = profile_in(text);
  if (!profile) {
    all_ = parse_budget(text);
    text_ = to_string(all_);
    return;
  }
  profile_ = *profile;
  if (profile_.empty())
    throw Error(Code::usage, "profile: needs the name of a file after the colon");
  heads_ = lab::read_profile_budgets(profile_);
} catch (const Error& error) {
  if (error.code() != Code::usage) throw;
  throw Error(Code::usage, fmt::format("--budget: {} (see tamis attend --help)", error.what()));
}

std::vector<Budget> Budgets::of_layer(const lab::Trace& trace, const lab::TraceLayer& layer) const {
  if (profile_.empty()) return {all_};
  const Shape& shape = layer.shape;
  std::vector<Budget> budgets;
  for (std::int64_t head = 0; head < shape.query_heads; ++head) {
    const auto found = std::ranges::find_if(heads_, [&](const lab::HeadBudget& entry) {
      return entry.layer == layer.layer && entry.head == head;
    });
    if (found == heads_.end())
      throw Error(Code::input, fmt::format("{}: has no budget for layer {}, head {}, which {} has",
                                           profile_, layer.layer, head, trace.path()));
    budgets.push_back(found->budget);
    // Heads that share a KV head share what is read, which needs one rule for all of them.
    const std::int64_t first = head - head % shape.group();
    const Budget& shared = budgets[static_cast<std::size_t>(first)];
    if (found->budget.kind != shared.kind)
      throw Error(
          Code::input,
          fmt::format("{}: layer {}: heads {} and {} share a KV head, but one has {} and the "
                      "other {}; give them budgets of one kind",
                      profile_, layer.layer, first, head, to_string(shared),
                      to_string(found->budget)));
  }
  return budgets;
}

std::string Budgets::label() const {
  if (profile_.empty()) return text_;
  return std::string(profile_prefix) + std::filesystem::path(profile_).filename().string();
}

}  // namespace tamis::cli
