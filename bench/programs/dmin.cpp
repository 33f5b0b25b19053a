// Times whole searches for the least d over the same pattern and grid, by the paper's literal
// construction on LAPACK and by tamis. The two alternate at every d, so that changes in the
// machine's load affect both alike. Prints Markdown.
//   tamis_bench_dmin THREADS N…
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <vector>

#include <tamis/info.h>
#include <tamis/lab/dmin.h>

#include "core/parallel.h"
#include "lab/kernels/kernels.h"
#include "lab/numbers/random.h"
#include "lab/realise/jl/search.h"
#include "support/lab/jl_literal.h"
#include "timing.h"

namespace {

using namespace tamis;
using namespace tamis::lab;

/// Normal deviates for the literal construction. It uses the library's fast generator, so that it
/// is measured at its best.
struct Normals {
  std::uint64_t row = 0;
  std::vector<float> buffer;
  void operator()(std::span<double> out) {
    const auto blocks = static_cast<std::int64_t>((out.size() + 63) / 64 * 16);
    buffer.resize(static_cast<std::size_t>(4 * blocks));
    tamis::lab::kernels::lab_kernels().jl.normals(
        1, static_cast<std::uint32_t>(numbers::Purpose::bench) << 16, row, 0, blocks,
        buffer.data());
    std::copy_n(buffer.begin(), out.size(), out.begin());
  }
};

/// Draws of the literal construction, either in parallel with one BLAS thread each, or one after
/// the other with all BLAS threads.
class Literal {
 public:
  Literal(const realisation::JlTarget& target, int threads)
      : threads_(threads), spaces_(static_cast<std::size_t>(threads)) {
    seconds = seconds_of([&] {
      const BlasThreads all(threads);
      literal_ = std::make_unique<JlLiteral>(target);
    });
    // Finds which way is faster on this machine from the best time of a few draws of medium rank,
    // with the ways alternating.
    const std::int64_t m = std::max<std::int64_t>(1, target.n / 12);
    double best[2] = {1e300, 1e300};
    for (int repeat = 0; repeat < 8; ++repeat) {
      apart_ = repeat % 2 != 0;
      best[repeat % 2] =
          std::min(best[repeat % 2], seconds_of([&] { (void)first(m, 8 * threads, 0); }));
    }
    apart_ = best[1] <= best[0];
  }

  /// Returns the first of `draws` that is accepted, or `draws` if none is.
  std::int64_t first(std::int64_t m, std::int64_t draws, std::int64_t offset) {
    const BlasThreads blas(apart_ ? 1 : threads_);
    std::atomic<std::int64_t> best{draws};
    core::parallel_for(draws, apart_ ? threads_ : 1, [&](std::int64_t item, int worker) {
      if (item > best) return;
      Normals normals{static_cast<std::uint64_t>((offset << 32) + item), {}};
      auto source = [&](std::span<double> out) { normals(out); };
      if (literal_->draw(m, source, spaces_[static_cast<std::size_t>(worker)]) > 0)
        for (std::int64_t now = best; item < now && !best.compare_exchange_weak(now, item);) {
        }
    });
    return best;
  }
  [[nodiscard]] const char* way() const {
    return apart_ ? "draws in parallel, one BLAS thread each"
                  : "draws in turn, BLAS on all threads";
  }
  double seconds = 0;  ///< of the decomposition at first, then of everything

 private:
  int threads_;
  bool apart_ = true;
  std::unique_ptr<JlLiteral> literal_;
  std::vector<JlLiteral::Space> spaces_;
};

void compare(std::int64_t n, int threads) {
  const DminProblem problem{.n = n, .seed = 1};
  const Pattern pattern = problem.pattern(0);
  const realisation::JlTarget target = realisation::jl_target(pattern, problem.conditions());
  Literal literal(target, threads);
  const double svd = literal.seconds;
  double fast = seconds_of([&] { (void)realisation::jl_target(pattern, problem.conditions()); });
  realisation::JlSearch search(target, problem.draw_seed(0), numbers::Purpose::dmin, threads);
  std::int64_t literal_d = 0;
  std::int64_t fast_d = 0;
  std::int64_t literal_draws = 0;
  std::int64_t fast_draws = 0;
  for (std::int64_t d = 8; d <= 2 * n && (literal_d == 0 || fast_d == 0); d += 8) {
    if (fast_d == 0) {
      std::vector<double> repeats;
      for (int repeat = 0; repeat < 3; ++repeat)
        repeats.push_back(seconds_of([&] {
          const auto found = search.first(d / 2, {0, n});
          if (found) fast_d = d;
          if (repeat == 0) fast_draws += found ? found->draw + 1 : n;
        }));
      fast += median(std::move(repeats));
    }
    if (literal_d == 0)
      literal.seconds += seconds_of([&] {
        const std::int64_t draw = literal.first(d / 2, n, d);
        if (draw < n) literal_d = d;
        literal_draws += std::min(n, draw + 1);
      });
    fmt::print(stderr, "n {} d {}: literal {:.2f} s, fast {:.3f} s\n", n, d, literal.seconds, fast);
  }
  fmt::print(
      "| {} | {} | {} | {:.2f} | {:.2f} | {} | {} | {:.3f} | **{:.0f}** | {:.0f} | {} |\n", n,
      literal_d, literal_draws, svd, literal.seconds, fast_d, fast_draws, fast,
      literal.seconds / fast,
      literal.seconds / static_cast<double>(literal_draws) * static_cast<double>(fast_draws) / fast,
      literal.way());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : core::hardware_thread_count();
  fmt::print("{} threads, target {}:\n\n", threads, target());
  fmt::print(
      "| n | least d, literal | draws | SVD s | literal s | least d, tamis | draws | tamis s | "
      "ratio | per draw | literal at its best |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (int i = 2; i < std::max(argc, 3); ++i)
    compare(argc > 2 ? std::atoll(argv[i]) : 512, threads);
  return 0;
}
