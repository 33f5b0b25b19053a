// Adam on the squared hinge of `shared_form.h`. The numbers of steps of the starts are 250 times 1,
// 2, 1, 4, 1, 2, 1, 8, … (at most 64), which costs a logarithmic factor over the best number for
// whatever pattern it is.
#include "lab/decide/shared.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/fail.h"
#include "core/parallel.h"
#include "lab/decide/shared_form.h"
#include "lab/numbers/random.h"

namespace tamis::lab::decision {
namespace {

// Found by trial on planted patterns, n = 4 … 100, and on the identity; success per time varies
// little near these values.
constexpr double first_rate = 0.3;  // of a step, falling to last_rate
constexpr double last_rate = 0.03;
constexpr double mean_decay = 0.95;
constexpr double square_decay = 0.99;
constexpr double start_scale = 0.5;  // scale of x at the start
constexpr std::int64_t least_steps = 250;
constexpr int most_doublings = 6;
/// Stops at a margin of this share of the hinge's, which rounding to f32 usually leaves intact.
constexpr double enough = 0.1;

/// The number of starts in a round; results are looked at after each round.
constexpr std::int64_t starts_per_round = 16;
constexpr std::int64_t steps_per_look = 16;  // between looks at the clock and at the other starts
/// The first row of the random stream used here; `starting_points` uses those below.
constexpr std::uint64_t first_stream_row = std::uint64_t{1} << 40;

void draw(SharedForm& form, std::uint64_t seed, std::int64_t start) {
  const numbers::Stream stream(seed, numbers::Purpose::descent,
                               first_stream_row + static_cast<std::uint64_t>(start));
  const std::span<double> drawn(form.numbers.data(), static_cast<std::size_t>(form.thresholds()));
  stream.fill_normal(drawn);
  for (double& x : drawn.first(static_cast<std::size_t>(form.b()))) x *= start_scale;
  std::fill(form.numbers.begin() + form.thresholds(), form.numbers.end(), 0.0);
}

/// Moves the form until its margins are enough, the steps are done, or `abandoned` returns true.
template <class Abandoned>
void descend(SharedForm& form, SharedHinge& hinge, std::int64_t steps, Abandoned&& abandoned) {
  std::vector<double> gradient;
  std::vector<double> mean(form.numbers.size());
  std::vector<double> square(form.numbers.size());
  double mean_weight = 1;
  double square_weight = 1;
  for (std::int64_t step = 0; step < steps; ++step) {
    if (step % steps_per_look == 0 && abandoned()) return;
    if (hinge.slope(form, gradient) >= enough) return;
    mean_weight *= mean_decay;
    square_weight *= square_decay;
    const double done = static_cast<double>(step) / static_cast<double>(steps);
    const double rate = (first_rate + (last_rate - first_rate) * done) / (1 - mean_weight);
    const double square_scale = 1 / (1 - square_weight);
    for (std::size_t c = 0; c < gradient.size(); ++c) {
      mean[c] = mean_decay * mean[c] + (1 - mean_decay) * gradient[c];
      square[c] = square_decay * square[c] + (1 - square_decay) * gradient[c] * gradient[c];
      form.numbers[c] -= rate * mean[c] / (std::sqrt(square[c] * square_scale) + 1e-12);
    }
  }
}

/// The witness of a form. Its numbers fit f32: a step moves none by more than two rates, so they
/// stay below 10⁵.
std::optional<realisation::Sealed> seal_shared(const Pattern& pattern, const SharedForm& form,
                                               const Metadata& made_by) {
  std::optional<realisation::Sealed> sealed;
  for (const DType dtype : {DType::f32, DType::f64}) {
    Witness witness = form.witness(dtype);
    witness.made_by = made_by;
    sealed = realisation::seal_witness(pattern, std::move(witness), {.weak = true}, 1);
    if (sealed) break;
  }
  return sealed;
}

class Search {
 public:
  Search(const Pattern& pattern, const SharedOptions& options, Clock::Part& clock)
      : pattern_(pattern),
        options_(options),
        clock_(clock),
        threads_(core::thread_count(options.threads)),
        hinges_(static_cast<std::size_t>(threads_), SharedHinge(pattern)) {}

  std::optional<realisation::Sealed> run() {
    std::vector<std::optional<realisation::Sealed>> found(starts_per_round);
    for (std::int64_t first = 0; first < options_.starts && !stop_; first += starts_per_round) {
      best_ = options_.starts;
      core::parallel_for(
          std::min(starts_per_round, options_.starts - first), threads_,
          [&](std::int64_t item, int worker) { found[item] = try_start(first + item, worker); });
      for (auto& sealed : found)
        if (sealed) return std::move(sealed);
    }
    return std::nullopt;
  }

 private:
  std::optional<realisation::Sealed> try_start(std::int64_t start, int worker) {
    // Only the success of an earlier start ends this one, so the first success does not depend on
    // the threads.
    const auto abandoned = [&] {
      if (std::this_thread::get_id() == caller_ && clock_.over()) stop_ = true;
      return stop_ || best_ < start;
    };
    SharedForm form(pattern_.rows, options_.dim, options_.hidden);
    SharedHinge& hinge = hinges_[static_cast<std::size_t>(worker)];
    draw(form, options_.seed, start);
    descend(form, hinge,
            least_steps << std::min(std::countr_zero(static_cast<std::uint64_t>(start) + 1),
                                    most_doublings),
            abandoned);
    if (!hinge.separated(form)) return std::nullopt;
    auto sealed = seal_shared(pattern_, form,
                              {{"method", "shared descent"},
                               {"seed", std::to_string(options_.seed)},
                               {"start", std::to_string(start)}});
    if (sealed) {
      std::int64_t best = best_;
      while (start < best && !best_.compare_exchange_weak(best, start)) {
      }
    }
    return sealed;
  }

  const Pattern& pattern_;
  const SharedOptions& options_;
  Clock::Part& clock_;
  const int threads_;
  const std::thread::id caller_ = std::this_thread::get_id();
  std::vector<SharedHinge> hinges_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::int64_t> best_ = 0;
};

}  // namespace

std::optional<realisation::Sealed> shared_witness(const Pattern& pattern,
                                                  const SharedOptions& options,
                                                  Clock::Part& clock) {
  if (pattern.rows != pattern.cols)
    core::fail(Code::input, "the pattern is {} × {}; a hidden size is for square patterns",
               pattern.rows, pattern.cols);
  if (options.dim < 1 || options.hidden < options.dim || options.hidden >= 2 * options.dim)
    core::fail(
        Code::usage,
        "dimension {} with hidden size {}: queries and keys share x for dim ≤ hidden < 2·dim",
        options.dim, options.hidden);
  return Search(pattern, options, clock).run();
}

}  // namespace tamis::lab::decision
