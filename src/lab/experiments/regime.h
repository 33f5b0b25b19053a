// How the norm R of synthetic heads depends on the length n of a context. Two namings, one meaning:
// sweeps over rules give R or the factor c of √log n, sweeps over norms give R at n = 1024, where
// all rises agree.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lab/experiments/experiment.h"

namespace tamis::lab::experiments {

enum class Rise : std::uint8_t { fixed, root, log };
struct RiseName {
  Rise rise;
  std::string_view name;   ///< in parameters
  std::string_view words;  ///< in reports
  double (*of)(double n);  ///< 1, √log n or log n
};
/// In the order of Rise.
const std::array<RiseName, 3>& rises();
const RiseName& named(Rise rise);

inline constexpr double regime_n = 1024;

struct Regime {
  Rise rise = Rise::fixed;
  double R = 0;
  double unit = 1;       ///< what the rise is where R is attained
  bool named_n = false;  ///< R is that at n = 1024

  bool operator==(const Regime&) const = default;
  [[nodiscard]] double at(double n) const { return R * named(rise).of(n) / unit; }
  /// "R = 3", "R = 3·√log n", "R grows as √log n, 3 at n = 1024".
  [[nodiscard]] std::string name() const;
  void write(Json& parameters) const;  ///< what `read` reads
  /// From the members regime and R (at n = 1024), or c, or R. Throws `input` for a regime that does
  /// not exist.
  static Regime read(const Json& parameters);
};
Regime fixed_at(double R);
Regime root_times(double c);  ///< R = c·√log n
Regime at_1024(Rise rise, double R);

/// One for every value of the axes R (fixed) and c (√log n).
std::vector<Regime> regimes_of(const GridRequest& request);
/// Where a point of `window`, `length` or `alpha` belongs in a report: its regime, or the heads of
/// the trace.
std::string setting_of(const GridRequest& request, const Json& parameters);

}  // namespace tamis::lab::experiments
