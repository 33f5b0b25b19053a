// Sign changes are counted cyclically; where the line begins is chosen at the end. The cost to be
// reduced is Σ_rows 2^(changes − most): nearly the number of changes of the worst rows, but it
// responds to every row. Replacing neighbours {a, b} of the order by {a, c} changes the count of
// the rows where columns b and c differ.
#include "lab/decide/column_order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>

#include "lab/numbers/random.h"

namespace tamis::lab::decision {
namespace {

constexpr std::int64_t most_columns = 4096;
constexpr std::int64_t most_bits = std::int64_t{1} << 27;

class Tour {
 public:
  Tour(const Side& columns, std::vector<std::int64_t> order)
      : columns_(&columns),
        order_(std::move(order)),
        changes_(static_cast<std::size_t>(columns.cuts)) {
    for (std::size_t i = 0; i < size(); ++i) add(order_[i], order_[(i + 1) % size()], 1);
  }

  [[nodiscard]] std::size_t size() const { return order_.size(); }
  [[nodiscard]] const std::vector<std::int64_t>& order() const { return order_; }
  [[nodiscard]] std::int64_t most() const { return *std::ranges::max_element(changes_); }
  /// Compares costs on the other tour's scale.
  [[nodiscard]] bool no_worse_than(const Tour& other) const {
    double difference = 0;
    for (std::size_t i = 0; i < changes_.size(); ++i)
      difference += other.price(changes_[i]) - other.price(other.changes_[i]);
    return difference <= 0;
  }

  /// Reverses and moves pieces while that lowers the cost, until no pair of places gives any gain.
  void improve(Clock::Part& clock) {
    scale_ = most();
    for (bool better = true; better;) {
      better = false;
      for (std::size_t i = 0; i + 1 < size(); ++i) {
        if (clock.over()) return;
        for (std::size_t j = i + 1; j < size(); ++j)
          if (try_reverse(i, j) || try_move(i, j)) better = true;
      }
      if (const std::int64_t now = most(); now < scale_) scale_ = now;
    }
  }

  /// Reverses three random pieces.
  void perturb(const numbers::Stream& stream, std::uint32_t& draw) {
    for (int i = 0; i < 3 && size() > 3; ++i) {
      std::size_t a = stream.below(size(), draw++);
      std::size_t b = stream.below(size(), draw++);
      if (a > b) std::swap(a, b);
      reverse(a, b);
    }
  }

 private:
  [[nodiscard]] double price(std::int64_t changes) const {
    return std::exp2(static_cast<double>(std::clamp<std::int64_t>(changes - scale_, -60, 60)));
  }
  [[nodiscard]] std::int64_t at(std::size_t i) const { return order_[i % size()]; }

  void add(std::int64_t a, std::int64_t b, std::int64_t sign) {
    const std::uint64_t* x = columns_->of(a);
    const std::uint64_t* y = columns_->of(b);
    for (std::int64_t w = 0; w < columns_->words; ++w)
      for (std::uint64_t differ = x[w] ^ y[w]; differ != 0; differ &= differ - 1)
        changes_[static_cast<std::size_t>(w * 64 + std::countr_zero(differ))] += sign;
  }

  /// The change of cost if the neighbour pairs `gone` are replaced by `come`. It is computed word
  /// by word, so that only rows that change are priced.
  template <std::size_t N>
  [[nodiscard]] double gain(const std::pair<std::int64_t, std::int64_t> (&gone)[N],
                            const std::pair<std::int64_t, std::int64_t> (&come)[N]) const {
    double sum = 0;
    for (std::int64_t w = 0; w < columns_->words; ++w) {
      std::uint64_t off[N];
      std::uint64_t on[N];
      std::uint64_t any = 0;
      for (std::size_t i = 0; i < N; ++i) {
        off[i] = columns_->of(gone[i].first)[w] ^ columns_->of(gone[i].second)[w];
        on[i] = columns_->of(come[i].first)[w] ^ columns_->of(come[i].second)[w];
        any |= off[i] | on[i];
      }
      for (; any != 0; any &= any - 1) {
        const int bit = std::countr_zero(any);
        std::int64_t delta = 0;
        for (std::size_t i = 0; i < N; ++i)
          delta += static_cast<std::int64_t>(on[i] >> bit & 1U) -
                   static_cast<std::int64_t>(off[i] >> bit & 1U);
        if (delta == 0) continue;
        const std::int64_t now = changes_[static_cast<std::size_t>(w * 64 + bit)];
        sum += price(now + delta) - price(now);
      }
    }
    return sum;
  }

  void reverse(std::size_t i, std::size_t j) {
    const std::int64_t before = at(i + size() - 1);
    const std::int64_t after = at(j + 1);
    add(before, at(i), -1);
    add(at(j), after, -1);
    std::reverse(order_.begin() + static_cast<std::ptrdiff_t>(i),
                 order_.begin() + static_cast<std::ptrdiff_t>(j) + 1);
    add(at(i + size() - 1), at(i), 1);
    add(at(j), at(j + 1), 1);
  }

  bool try_reverse(std::size_t i, std::size_t j) {
    if (i == 0 && j + 1 == size()) return false;
    const std::int64_t before = at(i + size() - 1);
    const std::int64_t after = at(j + 1);
    if (gain({{before, at(i)}, {at(j), after}}, {{before, at(j)}, {at(i), after}}) >= -least_gain)
      return false;
    reverse(i, j);
    return true;
  }

  /// Moves column i behind column j, or column j before column i, if that lowers the cost.
  bool try_move(std::size_t i, std::size_t j) {
    if (j < i + 2 || (i == 0 && j + 1 == size())) return false;
    const std::int64_t before = at(i + size() - 1);
    const std::int64_t after = at(j + 1);
    if (gain({{before, at(i)}, {at(i), at(i + 1)}, {at(j), after}},
             {{before, at(i + 1)}, {at(j), at(i)}, {at(i), after}}) < -least_gain) {
      rotate(i, i + 1, j + 1, before, after);
      return true;
    }
    if (gain({{before, at(i)}, {at(j - 1), at(j)}, {at(j), after}},
             {{before, at(j)}, {at(j), at(i)}, {at(j - 1), after}}) < -least_gain) {
      rotate(i, j, j + 1, before, after);
      return true;
    }
    return false;
  }

  void rotate(std::size_t first, std::size_t middle, std::size_t last, std::int64_t before,
              std::int64_t after) {
    add(before, at(first), -1);
    add(at(middle - 1), at(middle), -1);
    add(at(last - 1), after, -1);
    const auto begin = order_.begin();
    std::rotate(begin + static_cast<std::ptrdiff_t>(first),
                begin + static_cast<std::ptrdiff_t>(middle),
                begin + static_cast<std::ptrdiff_t>(last));
    const std::size_t joined = first + (last - middle);
    add(before, at(first), 1);
    add(at(joined - 1), at(joined), 1);
    add(at(last - 1), after, 1);
  }

  /// A gain below this may be rounding of no gain at all.
  static constexpr double least_gain = 1e-9;

  const Side* columns_;
  std::vector<std::int64_t> order_;
  std::vector<std::int64_t> changes_;  // by row, counted cyclically
  std::int64_t scale_ = 0;
};

/// Each column is followed by the nearest remaining one; once the clock is over, by the next one in
/// number.
std::vector<std::int64_t> nearest_neighbours(const Side& columns, Clock::Part& clock) {
  std::vector<std::int64_t> order{0};
  std::vector<std::int64_t> rest(static_cast<std::size_t>(columns.elements - 1));
  std::iota(rest.begin(), rest.end(), 1);
  while (!rest.empty()) {
    const std::uint64_t* last = columns.of(order.back());
    const auto distance = [&](std::int64_t column) {
      std::int64_t bits = 0;
      for (std::int64_t w = 0; w < columns.words; ++w)
        bits += std::popcount(last[w] ^ columns.of(column)[w]);
      return bits;
    };
    const auto next = clock.over() ? rest.begin() : std::ranges::min_element(rest, {}, distance);
    order.push_back(*next);
    rest.erase(next);
  }
  return order;
}

/// Begins the line, if possible, at a place where all the rows with the most cyclic changes change
/// sign: each then has one change less.
ColumnOrder opened(const Side& columns, const Tour& tour) {
  ColumnOrder best;
  const std::size_t size = tour.size();
  std::vector<std::int64_t> round(static_cast<std::size_t>(columns.cuts));
  const auto differ = [&](std::size_t i, std::int64_t cut) {
    return columns.at(tour.order()[i % size], cut) != columns.at(tour.order()[(i + 1) % size], cut);
  };
  for (std::int64_t cut = 0; cut < columns.cuts; ++cut)
    for (std::size_t i = 0; i < size; ++i)
      round[static_cast<std::size_t>(cut)] += differ(i, cut) ? 1 : 0;
  const std::int64_t most = *std::ranges::max_element(round);
  best.changes = most;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < size && best.changes == most; ++i) {
    bool all = most > 0;
    for (std::int64_t cut = 0; cut < columns.cuts && all; ++cut)
      all = round[static_cast<std::size_t>(cut)] < most || differ(i, cut);
    if (!all) continue;
    best.changes = most - 1;
    begin = (i + 1) % size;
  }
  best.order = tour.order();
  std::rotate(best.order.begin(), best.order.begin() + static_cast<std::ptrdiff_t>(begin),
              best.order.end());
  return best;
}

}  // namespace

std::optional<ColumnOrder> column_order(const SignMatrix& signs, std::uint64_t seed, int rounds,
                                        Clock::Part& clock) {
  if (signs.cols > most_columns || signs.rows * signs.cols > most_bits) return std::nullopt;
  const Side columns = side_of_columns(signs);
  std::vector<std::int64_t> given(static_cast<std::size_t>(signs.cols));
  std::iota(given.begin(), given.end(), 0);
  std::optional<ColumnOrder> best;
  std::optional<Tour> best_tour;
  const auto keep_better = [&](const Tour& tour) {
    ColumnOrder order = opened(columns, tour);
    if (best && order.changes >= best->changes) return false;
    best = std::move(order);
    return true;
  };
  for (const auto& start : {given, nearest_neighbours(columns, clock)}) {
    Tour tour(columns, start);
    keep_better(tour);
    tour.improve(clock);
    if (keep_better(tour) || !best_tour) best_tour = tour;
  }
  const numbers::Stream stream(seed, numbers::Purpose::order, std::uint64_t{1} << 40);
  std::uint32_t draw = 0;
  for (int round = 0; round < rounds && best->changes > 1 && !clock.over(); ++round) {
    Tour tour = *best_tour;
    tour.perturb(stream, draw);
    tour.improve(clock);
    if (keep_better(tour) || tour.no_worse_than(*best_tour)) best_tour = tour;
  }
  return best;
}

Keys keys_on_curve(const SignMatrix& signs, const ColumnOrder& order, std::int64_t dim) {
  std::vector<double> place(order.order.size());
  const auto n = static_cast<double>(order.order.size());
  const bool circle = dim % 2 == 0;
  for (std::size_t i = 0; i < order.order.size(); ++i)
    place[static_cast<std::size_t>(order.order[i])] =
        std::numbers::pi * (circle ? 2.0 * static_cast<double>(i) : static_cast<double>(i) + 0.5) /
        n;
  Keys keys{dim, {}};
  for (const std::int64_t kind : signs.kind_of) {
    const double t = place[static_cast<std::size_t>(kind)];
    for (std::int64_t i = 0; i < dim; ++i) {
      const auto frequency = static_cast<double>(circle ? i / 2 + 1 : i + 1);
      keys.k.push_back(circle && i % 2 == 1 ? std::sin(frequency * t) : std::cos(frequency * t));
    }
  }
  return keys;
}

}  // namespace tamis::lab::decision
