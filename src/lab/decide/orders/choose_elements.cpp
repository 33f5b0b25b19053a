// Signs are taken relative to those of the first element, so that opposite cuts count as equal.
#include "lab/decide/orders/choose_elements.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace tamis::lab::decision {
namespace {

/// A set of cuts: its words that are not zero, each with its index.
using Class = std::vector<std::pair<std::int64_t, std::uint64_t>>;

/// The classes of cuts, without those that hold a single cut.
class Classes {
 public:
  Classes(const Side& side, std::int64_t first) : side_(side), base_(side.of(first)) {
    Class& all = classes_.emplace_back();
    for (std::int64_t word = 0; word < side.words; ++word)
      all.emplace_back(word, ~std::uint64_t{0});
    if (side.cuts % 64 != 0) all.back().second = (std::uint64_t{1} << (side.cuts % 64)) - 1;
  }

  /// The number of classes that an element splits.
  [[nodiscard]] std::int64_t split_by(std::int64_t element) const {
    const std::uint64_t* const bits = side_.of(element);
    return std::count_if(classes_.begin(), classes_.end(), [&](const Class& cuts) {
      std::uint64_t in = 0;
      std::uint64_t out = 0;
      return std::any_of(cuts.begin(), cuts.end(), [&](const auto& part) {
        const std::uint64_t relative = bits[part.first] ^ base_[part.first];
        in |= part.second & relative;
        out |= part.second & ~relative;
        return in != 0 && out != 0;
      });
    });
  }

  void split(std::int64_t element) {
    const std::uint64_t* const bits = side_.of(element);
    std::vector<Class> halves;
    for (const Class& cuts : classes_) {
      for (const std::uint64_t flip : {std::uint64_t{0}, ~std::uint64_t{0}}) {
        Class half;
        for (const auto& [word, set] : cuts)
          if (const std::uint64_t kept = set & (bits[word] ^ base_[word] ^ flip))
            half.emplace_back(word, kept);
        if (half.size() > 1 || (half.size() == 1 && !std::has_single_bit(half[0].second)))
          halves.push_back(std::move(half));
      }
    }
    classes_ = std::move(halves);
  }

 private:
  const Side& side_;
  const std::uint64_t* base_;  // the signs of the first element
  std::vector<Class> classes_;
};

}  // namespace

std::vector<std::int64_t> telling_elements(const Side& side, std::int64_t count, Tell tell,
                                           const numbers::Stream& stream, Clock::Part& part) {
  std::uint32_t draw = 0;
  std::vector<std::int64_t> chosen{
      static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(side.elements), draw++))};
  Classes classes(side, chosen[0]);
  while (static_cast<std::int64_t>(chosen.size()) < std::min(side.elements, count)) {
    std::vector<std::int64_t> best;
    std::int64_t most = std::numeric_limits<std::int64_t>::min();
    for (std::int64_t e = 0; e < side.elements; ++e) {
      if (e % 64 == 0 && part.over()) return chosen;
      if (std::find(chosen.begin(), chosen.end(), e) != chosen.end()) continue;
      const std::int64_t gain = (tell == Tell::most ? 1 : -1) * classes.split_by(e);
      if (gain > most) best.clear();
      most = std::max(most, gain);
      if (gain == most) best.push_back(e);
    }
    chosen.push_back(best[stream.below(best.size(), draw++)]);
    classes.split(chosen.back());
  }
  return chosen;
}

}  // namespace tamis::lab::decision
