// C ABI: budgets as text.
#include "capi/budget.h"

#include <algorithm>
#include <string>

namespace tamis::capi {

// C callers pass arrays of these, so the size can never change.
static_assert(sizeof(tamis_budget) == 64);

Budget budget_of(const tamis_budget& c) {
  if (c.kind < TAMIS_MASS || c.kind > TAMIS_WINDOW)
    core::fail(Code::usage, "budget kind {} is not one of TAMIS_MASS ({}) … TAMIS_WINDOW ({})",
               c.kind, static_cast<int>(TAMIS_MASS), static_cast<int>(TAMIS_WINDOW));
  if (c.reserved != 0)
    core::fail(Code::usage, "the field reserved of a tamis_budget is {}; it must be 0", c.reserved);
  return {.kind = static_cast<Budget::Kind>(c.kind),
          .eps = c.eps,
          .share = c.share,
          .k = c.k,
          .alpha = c.alpha,
          .exponent = c.exponent,
          .window = c.window,
          .sinks = c.sinks};
}

tamis_budget to_c(const Budget& budget) {
  tamis_budget c{};
  c.kind = static_cast<tamis_budget_kind>(budget.kind);
  switch (budget.kind) {
    case Budget::Kind::mass:
      c.eps = budget.eps;
      break;
    case Budget::Kind::bytes:
      c.share = budget.share;
      break;
    case Budget::Kind::topk:
      c.k = budget.k;
      break;
    case Budget::Kind::power:
      c.alpha = budget.alpha;
      c.exponent = budget.exponent;
      break;
    case Budget::Kind::window:
      c.window = budget.window;
      c.sinks = budget.sinks;
      break;
  }
  return c;
}

}  // namespace tamis::capi

using namespace tamis::capi;  // NOLINT(google-build-using-namespace): the functions below are
                              // outside it

tamis_code tamis_budget_parse(const char* text, tamis_budget* out) {
  return guarded(
      [&] { required(out, "out") = to_c(tamis::parse_budget(&required(text, "text"))); });
}

tamis_code tamis_budget_to_text(const tamis_budget* budget, char* out, size_t capacity) {
  return guarded([&] {
    const tamis::Budget b = budget_of(required(budget, "budget"));
    tamis::check_budget(b);
    const std::string text = tamis::to_string(b);
    required(out, "out");
    if (text.size() >= capacity)
      tamis::core::fail(tamis::Code::usage,
                        "capacity is {}; the budget's text and its zero byte take {}", capacity,
                        text.size() + 1);
    std::ranges::copy(text, out);
    out[text.size()] = '\0';
  });
}
