// A profile: how sparse each head of a trace is, and by which law that grows. Definitions and the
// file format: docs/profile.md; laws and rules: docs/laws.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tamis/budget.h>
#include <tamis/export.h>
#include <tamis/lab/conformal.h>
#include <tamis/lab/law.h>
#include <tamis/lab/norms.h>
#include <tamis/lab/rows.h>
#include <tamis/lab/trace.h>

namespace tamis::lab {

struct ProfileOptions {
  RowOptions rows;        ///< its first eps is the one of the head's budget
  double delta = 0.1;     ///< share of rows that a calibrated rule may fail, between 0 and 1
  LawOptions law;         ///< its seed also deals the rows to fitting, calibration and test
  std::int64_t bins = 8;  ///< ranges of length, at most, that growth and collapse are told over
  std::vector<std::int64_t> layers;  ///< of the trace; empty: all
};

/// Over rows; NaN if there are none. The p-quantile is the smallest value that a share p does not
/// exceed.
struct Quantiles {
  double p10 = 0;
  double median = 0;
  double p90 = 0;
};

/// Rows of similar length.
struct GrowthBin {
  double n_low = 0;
  double n_high = 0;
  std::int64_t rows = 0;
  double n = 0;  ///< median
  Quantiles k_eps;
  double law = 0;   ///< what the best law says at n
  double null = 0;  ///< median of what Gaussian logits of each row's own spread would need
};

/// A head at one eps.
struct KEpsProfile {
  double eps = 0;
  Quantiles k_eps;
  Quantiles share;  ///< k_eps/n
  Quantiles null;   ///< per row, the median k_eps of n i.i.d. Gaussian logits of the row's spread
  LawFit law;
  RuleTable rules;  ///< calibrated for eps and delta
  std::vector<GrowthBin> growth;
  std::optional<NormPrediction> predicted;  ///< from R, at the median n
};

struct HeadProfile {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  std::int64_t rows = 0;  ///< that see a key
  Budget
      budget;  ///< power:ALPHA,C of the first eps, or mass:EPS where rows were too few to calibrate
  Quantiles n, top1, entropy, support, sink, mean, sigma;  ///< support is the effective one, e^H
  std::vector<Quantiles> window;                           ///< one per width of the options
  std::vector<KEpsProfile> by_eps;                      ///< in the order of the options
  std::optional<WeightNorm>
      norm;  ///< where the trace has weights, or their norm (then at offset 0 only)
  std::optional<double>
      R;  ///< B²·norm at offset 0, where it has the bound too; B²·low … B²·high over all
};

/// Collapse of a layer: its heads' rows of similar length together.
struct CollapseBin {
  double n_low = 0;
  double n_high = 0;
  std::int64_t rows = 0;
  double n = 0;  ///< median
  Quantiles top1, support, sink;
};
struct LayerProfile {
  std::int64_t layer = 0;
  std::optional<double> input_bound;  ///< B
  std::vector<CollapseBin> collapse;
};

struct Profile {
  std::string trace;  ///< file name without folders
  std::string model;  ///< from the trace's metadata; may be empty
  std::int64_t tokens = 0;
  std::int64_t queries = 0;
  bool causal = true;
  ProfileOptions options;
  std::vector<LayerProfile> layers;
  std::vector<HeadProfile> heads;  ///< by layer, then head
};

/// Given the rows of each layer when they are measured.
using RowsCallback = std::function<void(const TraceLayer&, const RowFigures&)>;

/// Profiles a trace. One layer in memory at a time; time as `row_figures`, a few milliseconds per
/// head and eps for laws, and 0.15 s per eps. Heads with too few rows or lengths for a law or a
/// rule are reported all the same; their LawFit::reason and Conformal say what is missing. Throws
/// `usage` for options out of range or a layer that the trace lacks, `input` for numbers that are
/// not finite, `cancelled`. Same bits for any number of threads. Safe to call concurrently, each
/// with its own Workspace.
[[nodiscard]] TAMIS_API Profile profile(const Trace& trace, const ProfileOptions& options,
                                        Workspace& workspace, const ProgressCallback& progress = {},
                                        const RowsCallback& rows = {});

/// Writes JSON that `read_profile` and `read_profile_budgets` read; the file appears when it is
/// complete.
TAMIS_API void write_profile(const std::string& path, const Profile& profile);
/// The text of that file.
[[nodiscard]] TAMIS_API std::string profile_text(const Profile& profile);
/// Throws `input`, naming the file and the member, if it is not a profile that `write_profile`
/// wrote.
[[nodiscard]] TAMIS_API Profile read_profile(const std::string& path);

/// A head in two profiles.
struct HeadDifference {
  const HeadProfile* a = nullptr;
  const HeadProfile* b = nullptr;
  double k_ratio = 0;  ///< median k_eps of b by that of a, at the first eps
  bool law_differs = false;
  bool exponents_apart = false;  ///< the intervals for C do not meet
};
/// Every head of `a` with its like in `b`. Throws `usage`, saying what differs, if `b` lacks a head
/// of `a`, was made for another first eps, or names another model where both name one. Refers to
/// both.
[[nodiscard]] TAMIS_API std::vector<HeadDifference> compare_profiles(const Profile& a,
                                                                     const Profile& b);
/// Before the work: throws as `compare_profiles(profile(trace, options, …), other)` would.
TAMIS_API void check_comparable(const Trace& trace, const ProfileOptions& options,
                                const Profile& other);

/// The budget of one query head, as a profile recommends it.
struct HeadBudget {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  Budget budget;
};

/// Reads {"heads": [{"layer": L, "head": H, "budget": "power:2,0.5", …}, …]}, other members being
/// ignored. Throws `input`, naming the file and the entry, if a member is missing, of the wrong
/// type or out of range, or if a head occurs twice.
TAMIS_API std::vector<HeadBudget> read_profile_budgets(const std::string& path);

}  // namespace tamis::lab
