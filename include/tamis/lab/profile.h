// A profile says, for each head of a trace, how sparse its attention is and which law describes
// how the number of keys it needs grows with context. docs/profile.md has the definitions and the
// file format; docs/laws.md has the laws and the calibrated rules.
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
#include <tamis/lab/quantiles.h>
#include <tamis/lab/rows.h>
#include <tamis/lab/trace.h>

namespace tamis::lab {

struct ProfileOptions {
  RowOptions rows;        ///< the head's budget is calibrated for the first eps
  double delta = 0.1;     ///< share of rows on which a calibrated rule may fail, in (0, 1)
  LawOptions law;         ///< its seed also splits the rows into fit, calibration, test
  std::int64_t bins = 8;  ///< most bins of row length for growth and collapse
  std::vector<std::int64_t> layers;  ///< layers to profile; empty means all
};

/// A bin of rows of similar length.
struct GrowthBin {
  double n_low = 0;
  double n_high = 0;
  std::int64_t rows = 0;
  double n = 0;  ///< median
  Quantiles k_eps;
  double law = 0;   ///< k_eps that the best law predicts at n
  double null = 0;  ///< median of the rows' null (see KEpsProfile::null)
};

/// The figures of one head that depend on eps.
struct KEpsProfile {
  double eps = 0;
  Quantiles k_eps;
  Quantiles share;  ///< k_eps/n
  /// Quantiles over rows of the null: the median of k_eps for n i.i.d. Gaussian logits with the
  /// row's own standard deviation.
  Quantiles null;
  LawFit law;
  RuleTable rules;  ///< rules calibrated for eps and delta
  std::vector<GrowthBin> growth;
  std::optional<NormPrediction> predicted;  ///< prediction from R at the median n
};

struct HeadProfile {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  std::int64_t rows = 0;  ///< rows that see at least one key
  /// The recommended budget: power:ALPHA,C, calibrated for the first eps, or mass:EPS if there
  /// were too few rows to calibrate.
  Budget budget;
  /// `effective_support` is e^H, with H the entropy.
  Quantiles n, top1, entropy, effective_support, sink, mean, sigma;
  std::vector<Quantiles> window;    ///< one per window of the options
  std::vector<KEpsProfile> by_eps;  ///< in the order of the options' eps
  /// Set if the trace has the weights W_Q and W_K, or their norm; in the latter case the norm is
  /// that at offset 0 only.
  std::optional<WeightNorm> norm;
  /// R = B²·norm at offset 0. Set if the trace also has the input bound B. Over all rotary
  /// offsets, R ranges over B²·low … B²·high.
  std::optional<double> R;
};

/// Collapse of a layer over one bin of row length; the rows of all its heads are pooled.
struct CollapseBin {
  double n_low = 0;
  double n_high = 0;
  std::int64_t rows = 0;
  double n = 0;  ///< median
  Quantiles top1, effective_support, sink;
};
struct LayerProfile {
  std::int64_t layer = 0;
  std::optional<double> input_bound;  ///< B, a bound on the input's entries, if the trace has it
  std::vector<CollapseBin> collapse;
};

struct Profile {
  std::string trace;  ///< file name without its folder
  std::string model;  ///< model name from the trace's metadata; may be empty
  std::int64_t tokens = 0;
  std::int64_t queries = 0;
  bool causal = true;
  ProfileOptions options;
  std::vector<LayerProfile> layers;
  std::vector<HeadProfile> heads;  ///< sorted by layer, then head
};

/// Called once per layer, with the figures of its rows, as soon as they are measured.
using RowsCallback = std::function<void(const TraceLayer&, const RowFigures&)>;

/// Profiles a trace. Holds one layer in memory at a time. Takes the time of `row_figures`, plus
/// a few milliseconds per head and eps for the laws, plus 0.15 s per eps. A head with too few
/// rows or lengths for a law or a rule is still reported; its LawFit::reason and Conformal say
/// what is missing. Throws `usage` for options out of range or a layer that the trace does not
/// have, `input` for numbers that are not finite, and `cancelled` if `progress` asks to stop.
/// Returns the same bits for any number of threads. Safe to call concurrently, each call with
/// its own Workspace.
[[nodiscard]] TAMIS_API Profile profile(const Trace& trace, const ProfileOptions& options,
                                        Workspace& workspace, const ProgressCallback& progress = {},
                                        const RowsCallback& rows = {});

/// Writes a profile as JSON, which `read_profile` and `read_profile_budgets` read. The file
/// appears under its name only once it is complete.
TAMIS_API void write_profile(const std::string& path, const Profile& profile);
/// Returns the text that `write_profile` writes.
[[nodiscard]] TAMIS_API std::string profile_text(const Profile& profile);
/// Reads a profile. Throws `input`, naming the file and the member, if `write_profile` did
/// not write it.
[[nodiscard]] TAMIS_API Profile read_profile(const std::string& path);

/// The same head in two profiles.
struct HeadDifference {
  const HeadProfile* a = nullptr;
  const HeadProfile* b = nullptr;
  double k_ratio = 0;  ///< median k_eps of b divided by that of a, at the first eps
  bool law_differs = false;
  bool exponents_apart = false;  ///< the intervals for C do not overlap
};
/// Compares every head of `a` with the same head in `b`. Throws `usage`, saying what differs, if
/// `b` lacks a head of `a`, if the profiles differ in their first eps, or if both name a model and
/// the names differ. The result points into `a` and `b`, which must outlive it.
[[nodiscard]] TAMIS_API std::vector<HeadDifference> compare_profiles(const Profile& a,
                                                                     const Profile& b);
/// Throws as `compare_profiles(profile(trace, options, …), other)` would, without the work of
/// making the profile.
TAMIS_API void check_comparable(const Trace& trace, const ProfileOptions& options,
                                const Profile& other);

/// The budget that a profile recommends for one query head.
struct HeadBudget {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  Budget budget;
};

/// Reads the budgets from JSON of the form {"heads": [{"layer": L, "head": H, "budget":
/// "power:2,0.5", …}, …]} and ignores all other members. Throws `input`, naming the file
/// and the entry, if a member is missing, has the wrong type or is out of range, or if a
/// head occurs twice.
TAMIS_API std::vector<HeadBudget> read_profile_budgets(const std::string& path);

}  // namespace tamis::lab
