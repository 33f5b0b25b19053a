// Budgets as text. One table holds the names of the kinds, their numbers and the range of each;
// reading, writing and checking all use it.
#include <tamis/budget.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

#include "core/fail.h"
#include "core/text.h"

namespace tamis {
namespace {

/// A number of a budget, which is a member of Budget, real or whole.
struct Field {
  std::string_view name;   ///< as it appears in Form::text
  std::string_view right;  ///< describes the valid values, for messages
  bool (*in_range)(double);
  double Budget::*real = nullptr;
  std::int64_t Budget::*whole = nullptr;

  [[nodiscard]] std::string text(const Budget& budget) const {
    return real != nullptr ? core::format("{}", budget.*real) : core::format("{}", budget.*whole);
  }
  [[nodiscard]] bool holds(const Budget& budget) const {
    return in_range(real != nullptr ? budget.*real : static_cast<double>(budget.*whole));
  }
  /// Returns false if `text` is not a number of this type.
  [[nodiscard]] bool read(std::string_view text, Budget& budget) const {
    if (real != nullptr) {
      const auto value = core::parse_f64(text);
      budget.*real = value.value_or(0);
      return value.has_value();
    }
    const auto value = core::parse_int(text);
    budget.*whole = value.value_or(0);
    return value.has_value();
  }
};

struct Form {
  std::string_view name;
  std::string_view text;
  std::span<const Field> fields;
};

constexpr bool (*positive)(double) = [](double x) { return x > 0 && std::isfinite(x); };
constexpr bool (*at_least_0)(double) = [](double x) { return x >= 0; };
constexpr bool (*at_least_1)(double) = [](double x) { return x >= 1; };
constexpr bool (*up_to_1)(double) = [](double x) { return x > 0 && x <= 1; };
constexpr bool (*below_1)(double) = [](double x) { return x > 0 && x < 1; };
constexpr bool (*from_0_to_1)(double) = [](double x) { return x >= 0 && x <= 1; };

constexpr Field mass[] = {{"EPS", "a number above 0 and below 1", below_1, &Budget::eps}};
constexpr Field bytes[] = {{"SHARE", "a number above 0 and at most 1", up_to_1, &Budget::share}};
constexpr Field topk[] = {{"K", "a whole number, at least 1", at_least_1, nullptr, &Budget::k}};
constexpr Field power[] = {{"ALPHA", "a finite number above 0", positive, &Budget::alpha},
                           {"C", "a number from 0 to 1", from_0_to_1, &Budget::exponent}};
constexpr Field window[] = {
    {"W", "a whole number, at least 1", at_least_1, nullptr, &Budget::window},
    {"SINKS", "a whole number, at least 0", at_least_0, nullptr, &Budget::sinks}};

/// Indexed by Budget::Kind.
constexpr std::array<Form, 5> forms{{{"mass", "mass:EPS", mass},
                                     {"bytes", "bytes:SHARE", bytes},
                                     {"topk", "topk:K", topk},
                                     {"power", "power:ALPHA,C", power},
                                     {"window", "window:W,SINKS", window}}};

std::string all_forms() {
  std::string texts;
  for (const Form& form : forms) {
    if (!texts.empty()) texts += ", ";
    texts += form.text;
  }
  return texts;
}

const Form& form_of(const Budget& budget) {
  const auto kind = static_cast<std::size_t>(budget.kind);
  if (kind >= forms.size())
    core::fail(Code::usage, "a budget has kind {}; the kinds are {}", kind, all_forms());
  return forms[kind];
}

[[noreturn]] void fail_field(std::string_view budget, const Field& field, std::string_view value) {
  core::fail(Code::usage, "budget {}: {} is {}; it must be {}", core::quote(budget), field.name,
             core::quote(value), field.right);
}

}  // namespace

Budget parse_budget(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto form = std::ranges::find(forms, text.substr(0, colon), &Form::name);
  if (form == forms.end())
    core::fail(Code::usage, "budget {} is of no known kind; it must be one of {}",
               core::quote(text), all_forms());
  const auto fail_form = [&] {
    core::fail(Code::usage, "budget {} has the wrong form; it must be {}", core::quote(text),
               form->text);
  };
  if (colon == std::string_view::npos) fail_form();
  std::string_view rest = text.substr(colon + 1);
  if (std::ranges::count(rest, ',') + 1 != std::ssize(form->fields)) fail_form();

  Budget budget;
  budget.kind = static_cast<Budget::Kind>(form - forms.begin());
  for (const Field& field : form->fields) {
    const std::string_view value = rest.substr(0, rest.find(','));
    if (!field.read(value, budget) || !field.holds(budget)) fail_field(text, field, value);
    rest.remove_prefix(std::min(rest.size(), value.size() + 1));
  }
  return budget;
}

std::string to_string(const Budget& budget) {
  const Form& form = form_of(budget);
  std::string text(form.name);
  for (const Field& field : form.fields) {
    text += &field == form.fields.data() ? ':' : ',';
    text += field.text(budget);
  }
  return text;
}

void check_budget(const Budget& budget) {
  for (const Field& field : form_of(budget).fields)
    if (!field.holds(budget)) fail_field(to_string(budget), field, field.text(budget));
}

}  // namespace tamis
