// How the norm R of synthetic heads depends on the context length n. There are two ways to name a
// regime: sweeps over rules give R or the factor c of √log n, sweeps over norms give R at n =
// 1024, where all rises have the same R.
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
  std::string_view name;   ///< name in parameters
  std::string_view words;  ///< name in reports
  double (*of)(double n);  ///< 1, √log n or log n
};
/// All rises, in the order of Rise.
const std::array<RiseName, 3>& rises();
const RiseName& named(Rise rise);

inline constexpr double regime_n = 1024;

struct Regime {
  Rise rise = Rise::fixed;
  double R = 0;
  double unit = 1;       ///< value of the rise at the n where the norm is R
  bool named_n = false;  ///< R is named by its value at n = 1024

  bool operator==(const Regime&) const = default;
  [[nodiscard]] double at(double n) const { return R * named(rise).of(n) / unit; }
  /// For example "R = 3", "R = 3·√log n" or "R grows as √log n, 3 at n = 1024".
  [[nodiscard]] std::string name() const;
  void write(Json& parameters) const;  ///< writes the members that `read` reads
  /// Reads a regime from the members regime and R (at n = 1024), or c, or R. Throws `input` for a
  /// regime that does not exist.
  static Regime read(const Json& parameters);
};
Regime fixed_at(double R);
Regime root_times(double c);  ///< R = c·√log n
Regime at_1024(Rise rise, double R);

/// Returns one regime for every value of the axes R (fixed) and c (√log n).
std::vector<Regime> regimes_of(const GridRequest& request);
/// The setting under which a report lists a point of `window`, `length` or `alpha`: its regime, or
/// the heads of the trace.
std::string setting_of(const GridRequest& request, const Json& parameters);

}  // namespace tamis::lab::experiments
