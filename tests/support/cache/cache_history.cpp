#include "support/cache/cache_history.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>

#include <fmt/format.h>

namespace tamis::test {
namespace {

using Random = std::mt19937_64;

std::int64_t below(Random& random, std::int64_t n) {
  return n > 0 ? static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)) : 0;
}

class History {
 public:
  History(Cache& cache, Sequence sequence, const Tokens& tokens, const Happenings& may,
          Random& random, Workspace& workspace)
      : cache_(cache),
        at_(sequence),
        free_(sequence + 1),
        tokens_(tokens),
        may_(may),
        random_(random),
        workspace_(workspace) {}

  void run() {
    const Sequence wanted = at_;
    cache_.add(at_);
    while (cache_.tokens(at_) < tokens_.tokens) {
      append();
      if (may_.cuts && one_in(3)) cut();
      if (may_.forks && one_in(4)) fork();
      if (may_.sheds && one_in(8)) shed();
    }
    if (may_.files && one_in(4)) file();
    if (at_ != wanted) {
      // The sequence number that was asked for is free, or is that of an ancestor.
      if (cache_.contains(wanted)) cache_.remove(wanted);
      cache_.fork(at_, tokens_.tokens, wanted);
      if (!one_in(8)) cache_.remove(at_);
    }
  }

 private:
  bool one_in(std::uint64_t n) { return random_() % n == 0; }

  /// Appends the wanted tokens first … first + count − 1.
  void append_rows(std::int64_t first, std::int64_t count) {
    const auto from = [&](tamis::Rows rows) {
      rows.data = static_cast<const std::byte*>(rows.data) +
                  first * rows.token_stride * size_of(rows.dtype);
      return rows;
    };
    cache_.append({&at_, 1}, {&count, 1}, from(tokens_.keys), from(tokens_.values), workspace_);
  }
  void append() {
    const std::int64_t have = cache_.tokens(at_);
    const std::int64_t left = tokens_.tokens - have;
    std::int64_t count = left;
    if (may_.pieces && !one_in(4)) {
      constexpr std::int64_t sizes[] = {1, 3, 60, 127, 128, 129, 200, 400};
      count = std::min(left, sizes[random_() % std::size(sizes)]);
    }
    append_rows(have, count);
  }
  void cut() {
    const std::int64_t have = cache_.tokens(at_);
    // These tokens differ from the wanted ones: they repeat the beginning.
    const std::int64_t more = 1 + below(random_, std::min<std::int64_t>(tokens_.tokens, 300));
    append_rows(0, more);
    const std::int64_t keep =
        one_in(2) ? have : std::max<std::int64_t>(0, have - below(random_, 150));
    cache_.truncate(at_, keep);
  }
  void fork() {
    const std::int64_t have = cache_.tokens(at_);
    const std::int64_t keep =
        one_in(2) ? have : std::max<std::int64_t>(0, have - below(random_, 300));
    const Sequence to = free_++;
    cache_.fork(at_, keep, to);
    append_rows(0, std::min<std::int64_t>(tokens_.tokens, 70));  // the source grows on its own
    cache_.remove(at_);
    at_ = to;
  }
  void shed() {
    const int bits = cache_.options().bits;
    if (bits > 8)
      cache_.shed(at_, one_in(2) ? 8 : bits - 4, below(random_, cache_.tokens(at_) + 1));
  }
  void file() {
    static std::atomic<int> number{0};
    const std::string path = (std::filesystem::temp_directory_path() /
                              fmt::format("tamis-history-{}-{}", getpid(), number++))
                                 .string();
    cache_.save(at_, path);
    const Sequence to = free_++;
    cache_.load(to, path);
    std::filesystem::remove(path);
    cache_.remove(at_);
    at_ = to;
  }

  Cache& cache_;
  Sequence at_;    ///< its current sequence number
  Sequence free_;  ///< the next unused sequence number
  const Tokens& tokens_;
  const Happenings& may_;
  Random& random_;
  Workspace& workspace_;
};

}  // namespace

void live_through(Cache& cache, Sequence sequence, const Tokens& tokens, const Happenings& may,
                  std::mt19937_64& random, Workspace& workspace) {
  History(cache, sequence, tokens, may, random, workspace).run();
}

}  // namespace tamis::test
