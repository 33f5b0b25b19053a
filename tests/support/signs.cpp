#include "support/signs.h"

#include <algorithm>
#include <numeric>

namespace tamis::test {

bool fits_on_a_line(const Pattern& pattern) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(pattern.cols));
  std::iota(order.begin(), order.end(), 0);
  do {
    bool fits = true;
    for (std::int64_t i = 0; i < pattern.rows && fits; ++i) {
      const auto columns = pattern.columns_of(i);
      int changes = 0;
      bool last = false;
      for (std::size_t j = 0; j < order.size(); ++j) {
        const bool in = std::binary_search(columns.begin(), columns.end(), order[j]);
        changes += j > 0 && in != last ? 1 : 0;
        last = in;
      }
      fits = changes <= 1;
    }
    if (fits) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

}  // namespace tamis::test
