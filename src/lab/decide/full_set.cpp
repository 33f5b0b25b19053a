// The signs of a cut are taken relative to the set's first element: on each other element a cut
// agrees with it or not. The set is full if none of the 2^(c−1) classes of cuts with the same signs
// is empty. Each element that is added divides every class in two, so a class that c' further
// elements must divide needs at least 2^c' cuts.
#include "lab/decide/full_set.h"

#include <bit>

namespace tamis::lab::decision {
namespace {

class Search {
 public:
  Search(const Side& side, std::int64_t size, Clock::Part& clock)
      : side_(side), size_(size), clock_(clock), words_(static_cast<std::size_t>(side.words)) {}

  /// The elements of a full set, ascending; empty if there is none or the time is over.
  std::vector<std::int64_t> run() {
    std::vector<std::uint64_t> all(words_, ~std::uint64_t{0});
    if (side_.cuts % 64 != 0) all.back() = (std::uint64_t{1} << (side_.cuts % 64)) - 1;
    levels_.assign(static_cast<std::size_t>(size_), {});
    levels_[0] = all;
    for (std::int64_t base = 0; base + size_ <= side_.elements && !stopped_; ++base) {
      stopped_ = clock_.over();
      set_ = {base};
      candidates_.clear();
      for (std::int64_t e = base + 1; e < side_.elements; ++e)
        if (halves(e, 1)) candidates_.push_back(e);
      if (extend()) return set_;
    }
    return {};
  }
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  /// Whether element e, added to a set of so many members, leaves enough cuts of every class on
  /// both sides.
  bool halves(std::int64_t e, std::int64_t members) {
    const std::int64_t least = std::int64_t{1} << (size_ - members - 1);
    const std::vector<std::uint64_t>& classes = levels_[static_cast<std::size_t>(members - 1)];
    const std::uint64_t* first = side_.of(set_[0]);
    const std::uint64_t* bits = side_.of(e);
    for (std::size_t c = 0; c < classes.size(); c += words_) {
      std::int64_t in = 0;
      std::int64_t out = 0;
      for (std::size_t w = 0; w < words_; ++w) {
        const std::uint64_t differs = bits[w] ^ first[w];
        in += std::popcount(classes[c + w] & differs);
        out += std::popcount(classes[c + w] & ~differs);
      }
      if (in < least || out < least) return false;
    }
    return true;
  }

  void divide(std::int64_t e, std::int64_t members) {
    const std::vector<std::uint64_t>& classes = levels_[static_cast<std::size_t>(members - 1)];
    std::vector<std::uint64_t>& parts = levels_[static_cast<std::size_t>(members)];
    parts.clear();
    const std::uint64_t* first = side_.of(set_[0]);
    const std::uint64_t* bits = side_.of(e);
    for (std::size_t c = 0; c < classes.size(); c += words_)
      for (const std::uint64_t flip : {~std::uint64_t{0}, std::uint64_t{0}})
        for (std::size_t w = 0; w < words_; ++w)
          parts.push_back(classes[c + w] & (bits[w] ^ first[w] ^ flip));
  }

  /// Adds elements of candidates_ until the set is full; false if that is not possible.
  bool extend() {
    const auto members = static_cast<std::int64_t>(set_.size());
    if (members == size_) return true;
    const std::vector<std::int64_t> candidates = candidates_;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (members + static_cast<std::int64_t>(candidates.size() - i) < size_) return false;
      if ((++steps_ & 63U) == 0 && clock_.over()) stopped_ = true;
      if (stopped_) return false;
      divide(candidates[i], members);
      set_.push_back(candidates[i]);
      candidates_.clear();
      if (members + 1 < size_)
        for (std::size_t j = i + 1; j < candidates.size(); ++j)
          if (halves(candidates[j], members + 1)) candidates_.push_back(candidates[j]);
      if (extend()) return true;
      set_.pop_back();
    }
    return false;
  }

  const Side& side_;
  std::int64_t size_;
  Clock::Part& clock_;
  std::size_t words_;
  std::vector<std::int64_t> set_;
  std::vector<std::int64_t> candidates_;
  std::vector<std::vector<std::uint64_t>> levels_;  // levels_[m − 1]: classes for m members
  std::uint64_t steps_ = 0;
  bool stopped_ = false;
};

}  // namespace

FullSetSearch find_full_set(const SignMatrix& signs, const Side& side, std::int64_t size,
                            Clock::Part& clock) {
  FullSetSearch result;
  // A full set needs 2^(size − 1) cuts.
  if (size > side.elements || size > 62 || side.cuts >> (size - 1) == 0) {
    result.complete = true;
    return result;
  }
  constexpr std::int64_t most_words = std::int64_t{1} << 25;
  if (side.words > most_words >> (size - 2)) return result;
  Search search(side, size, clock);
  const std::vector<std::int64_t> set = search.run();
  if (set.empty()) {
    result.complete = !search.stopped();
    return result;
  }
  const std::vector<std::int64_t>& element_of = side.of_columns ? signs.column_of : signs.row_of;
  const std::vector<std::int64_t>& cut_of = side.of_columns ? signs.row_of : signs.column_of;
  FullSet& found = result.found.emplace();
  found.of_columns = side.of_columns;
  for (const std::int64_t e : set)
    found.elements.push_back(element_of[static_cast<std::size_t>(e)]);
  found.cuts.resize(std::size_t{1} << (size - 1));
  for (std::int64_t cut = side.cuts - 1; cut >= 0; --cut) {
    std::size_t split = 0;
    for (std::int64_t e = 1; e < size; ++e)
      if (side.at(set[static_cast<std::size_t>(e)], cut) != side.at(set[0], cut))
        split |= std::size_t{1} << (e - 1);
    found.cuts[split] = cut_of[static_cast<std::size_t>(cut)];
  }
  return result;
}

}  // namespace tamis::lab::decision
