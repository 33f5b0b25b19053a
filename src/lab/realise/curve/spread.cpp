#include "lab/realise/curve/spread.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "lab/numbers/random.h"

namespace tamis::lab::realisation {
namespace {

constexpr int most_passes = 24;
constexpr int tries = 16;
constexpr double most_work = 2e9;  // gaps examined by all passes together

class Search {
 public:
  Search(const Pattern& pattern, const Curve& curve) : pattern_(pattern), curve_(curve) {
    start_.assign(static_cast<std::size_t>(pattern.cols) + 1, 0);
    for (const std::int64_t column : pattern.column) ++start_[static_cast<std::size_t>(column) + 1];
    std::partial_sum(start_.begin(), start_.end(), start_.begin());
    row_.resize(pattern.column.size());
    std::vector<std::size_t> next(start_.begin(), start_.end() - 1);
    for (std::int64_t row = 0; row < pattern.rows; ++row)
      for (const std::int64_t column : pattern.columns_of(row))
        row_[next[static_cast<std::size_t>(column)]++] = row;
  }

  std::vector<std::int64_t> run() {
    choose_start();
    const int passes = static_cast<int>(std::min<double>(most_passes, most_work / work_per_pass()));
    for (int pass = 0; pass < passes; ++pass) {
      const double before = total();
      improve(pass);
      if (!(total() < 0.99 * before)) break;
    }
    return position_;
  }

 private:
  /// The gaps examined in a pass. An exchange affects the rows of two columns, each before and
  /// after, and a row has k² gaps.
  [[nodiscard]] double work_per_pass() const {
    double gaps = 0;
    for (std::int64_t row = 0; row < pattern_.rows; ++row) {
      const auto k = static_cast<double>(pattern_.columns_of(row).size());
      gaps += k * k;
    }
    const double rows_per_column =
        static_cast<double>(pattern_.nonzeros()) / static_cast<double>(pattern_.cols);
    return tries * 4 * rows_per_column * gaps;
  }

  /// Puts column j at position j·stride mod n. Strides near fractions of n put neighbours at
  /// opposite ends; the best is taken.
  void choose_start() {
    double best = std::numeric_limits<double>::infinity();
    std::vector<std::int64_t> chosen;
    for (const std::int64_t parts : {0, 2, 3, 4, 5}) {
      std::int64_t stride = parts == 0 ? 1 : std::max<std::int64_t>(1, pattern_.cols / parts);
      while (std::gcd(stride, pattern_.cols) != 1) ++stride;
      position_.resize(static_cast<std::size_t>(pattern_.cols));
      for (std::size_t j = 1; j < position_.size(); ++j)
        position_[j] = (position_[j - 1] + stride) % pattern_.cols;
      position_.front() = 0;
      if (const double now = total(); chosen.empty() || now < best) {
        best = now;
        chosen = position_;
      }
    }
    position_ = std::move(chosen);
  }

  /// The nonzero of a row with the least product of gaps to the others, and that product.
  struct Crowded {
    std::int64_t column;
    double product;
  };
  [[nodiscard]] Crowded most_crowded(std::int64_t row) const {
    const auto columns = pattern_.columns_of(row);
    Crowded most{columns.front(), std::numeric_limits<double>::infinity()};
    for (const std::int64_t a : columns) {
      double product = 1;
      for (const std::int64_t b : columns)
        if (a != b) product *= curve_.gap(position_of(a), position_of(b));
      if (product < most.product) most = {a, product};
    }
    return most;
  }

  /// The share of a row in the sum that is minimised. Squares make the sum follow the worst rows.
  [[nodiscard]] double cost(std::int64_t row) const {
    if (pattern_.columns_of(row).size() < 2) return 0;
    const double product = most_crowded(row).product;
    return 1 / (product * product);
  }

  [[nodiscard]] std::int64_t position_of(std::int64_t column) const {
    return position_[static_cast<std::size_t>(column)];
  }

  [[nodiscard]] double total() const {
    double sum = 0;
    for (std::int64_t row = 0; row < pattern_.rows; ++row) sum += cost(row);
    return sum;
  }

  /// The cost of the rows with a nonzero in column a or b. A row that has both counts twice, before
  /// and after an exchange alike.
  [[nodiscard]] double cost_around(std::int64_t a, std::int64_t b) const {
    double sum = 0;
    for (const std::int64_t column : {a, b})
      for (std::size_t at = start_[static_cast<std::size_t>(column)];
           at < start_[static_cast<std::size_t>(column) + 1]; ++at)
        sum += cost(row_[at]);
    return sum;
  }

  void exchange(std::int64_t a, std::int64_t b) {
    std::swap(position_[static_cast<std::size_t>(a)], position_[static_cast<std::size_t>(b)]);
  }

  /// For each row, moves its most crowded nonzero to the best of a few random positions.
  void improve(int pass) {
    for (std::int64_t row = 0; row < pattern_.rows; ++row) {
      if (pattern_.columns_of(row).size() < 2) continue;
      const numbers::Stream stream(static_cast<std::uint64_t>(pass), numbers::Purpose::order,
                                   static_cast<std::uint64_t>(row));
      const std::int64_t worst = most_crowded(row).column;
      std::int64_t best = -1;
      double best_gain = 0;
      for (std::uint32_t t = 0; t < tries; ++t) {
        const auto other =
            static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(pattern_.cols), t));
        const double before = cost_around(worst, other);
        exchange(worst, other);
        const double gain = before - cost_around(worst, other);
        exchange(worst, other);
        if (!(gain > best_gain)) continue;  // also if the gain is NaN
        best_gain = gain;
        best = other;
      }
      if (best >= 0) exchange(worst, best);
    }
  }

  const Pattern& pattern_;
  const Curve& curve_;
  std::vector<std::size_t> start_;  ///< offsets of each column's rows in row_
  std::vector<std::int64_t> row_;
  std::vector<std::int64_t> position_;
};

}  // namespace

std::vector<std::int64_t> spread_columns(const Pattern& pattern, const Curve& curve) {
  return Search(pattern, curve).run();
}

}  // namespace tamis::lab::realisation
