// The certificates of a layer against the truth: the same attention in f64.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <thread>

#include "attend/blocks.h"
#include "attend/layer.h"
#include "terminal/interrupt.h"

namespace tamis::cli {
namespace {

/// About a tenth of a second of f64 arithmetic.
constexpr std::int64_t products_per_block = std::int64_t{1} << 26;

/// The reference errs as well: by the same bound with 2⁻⁵³ in place of 2⁻²⁴, hence by less than 2⁻²⁹ of it.
constexpr double reference_share = 1 + 0x1p-29;

double distance(std::span<const float> out, std::span<const double> exact) {
  double sum = 0;
  for (std::size_t c = 0; c < out.size(); ++c) {
    const double difference = out[c] - exact[c];
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

/// Calls body(i) for i in 0 … count − 1 on several threads until one throws or Ctrl-C is pressed.
template <class Body>
void on_threads(std::size_t count, int threads, const Body& body) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < count && !failed && !interrupted(); i = next++) body(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
  std::vector<std::jthread> team;
  for (std::size_t t = 1; t < std::min(count, static_cast<std::size_t>(threads)); ++t)
    team.emplace_back(work);
  work();
  team.clear();
  if (failure) std::rethrow_exception(failure);
  stop_if_interrupted();
}

}  // namespace

void check_layer(const Trace& trace, const LayerData& data, int threads, Progress& progress,
                 LayerResult& result) {
  const Shape& shape = result.layer.shape;
  const PageTables pages(shape.dtype, data.k.bytes().data(), data.v.bytes().data(), shape.kv_heads,
                         trace.tokens(), shape.head_dim, shape.value_dim);
  const View<const float> q(data.q.data(), shape.rows(), shape.head_dim);
  const View<const float> out(result.out.data(), shape.rows(), shape.value_dim);
  result.true_error.resize(result.error.size());
  result.true_lse_error.resize(result.error.size());

  const std::int64_t row_products = trace.tokens() * (shape.head_dim + shape.value_dim);
  const std::vector<Block> blocks =
      blocks_of(shape, std::max<std::int64_t>(1, products_per_block / row_products));
  const double pairs = pairs_of(trace, result.layer);
  progress.enter(check_stage);
  on_threads(blocks.size(), threads, [&](std::size_t index) {
    const Block& block = blocks[index];
    const std::int64_t rows = block.shape.rows();
    std::vector<double> exact(static_cast<std::size_t>(rows * shape.value_dim));
    std::vector<double> exact_lse(static_cast<std::size_t>(rows));
    const View<double> exact_out(exact.data(), rows, shape.value_dim);
    reference(block.shape, q.middle_rows(block.row, rows), block.kv(pages.heads()),
              block.seen(trace.seen()), exact_out, exact_lse);
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto row = static_cast<std::size_t>(block.row + i);
      result.true_error[row] = distance(out.row(block.row + i), exact_out.row(i));
      result.true_lse_error[row] = std::abs(result.lse[row] - exact_lse[static_cast<std::size_t>(i)]);
    }
    progress.advance(pairs * static_cast<double>(rows) / static_cast<double>(shape.rows()));
  });

  for (std::size_t row = 0; row < result.error.size(); ++row) {
    // Written so that a NaN on either side is a violation.
    const bool holds = result.true_error[row] <= result.error[row] * reference_share &&
                       result.true_lse_error[row] <= result.lse_error[row] * reference_share;
    if (!holds) ++result.violations;
  }
}

}  // namespace tamis::cli
