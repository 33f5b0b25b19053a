// Measures how fast this machine reads memory, which bounds the speed of a decode step, and
// empties the machine's caches. bench/dense.py loads this library. Each call costs a few passes
// over the given buffer.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "together.h"

namespace {

constexpr std::size_t line = 64;  // bytes
using Lanes = std::uint64_t __attribute__((vector_size(32)));

/// Reads `bytes` as `streams` interleaved sequences, as an attention kernel reads K and V. Cores
/// differ in how many streams their prefetchers follow best, so the caller tries several.
template <int streams>
std::uint64_t read(const std::byte* data, std::size_t bytes) {
  const std::size_t each = bytes / streams / (4 * line) * (4 * line);
  Lanes sum[8] = {};
  for (std::size_t at = 0; at < each; at += 4 * line)
    for (int s = 0; s < streams; ++s) {
      const auto* lanes = reinterpret_cast<const Lanes*>(data + s * each + at);
      for (int i = 0; i < 8; ++i) sum[i] += lanes[i];
    }
  std::uint64_t total = 0;
  for (const Lanes& s : sum) total += s[0] + s[1] + s[2] + s[3];
  return total;
}

using Read = std::uint64_t (*)(const std::byte*, std::size_t);
constexpr Read reads[] = {read<1>, read<2>, read<4>, read<8>};

// The sums are stored here so that the compiler cannot drop the reads.
volatile std::uint64_t sink;

}  // namespace

extern "C" {

/// Returns the best bytes per second over `passes` passes of each way of reading, with one thread
/// on each core and a part of the buffer for each thread.
__attribute__((visibility("default"))) double bench_read_bandwidth(const std::byte* data,
                                                                   std::size_t bytes,
                                                                   const int* cores, int threads,
                                                                   int passes) {
  const std::size_t part = bytes / threads / 4096 * 4096;
  double best = 0;
  for (const Read way : reads)
    for (int pass = 0; pass < passes; ++pass) {
      const double seconds =
          seconds_together(cores, threads, [=](int t) { sink = way(data + t * part, part); });
      best = std::max(best, static_cast<double>(part) * threads / seconds);
    }
  return best;
}

/// Empties the caches: every core reads the whole buffer, which is several times the size of the
/// last-level cache.
__attribute__((visibility("default"))) void bench_evict(const std::byte* data, std::size_t bytes,
                                                        const int* cores, int threads) {
  seconds_together(cores, threads, [=](int) { sink = read<1>(data, bytes); });
}

}  // extern "C"
