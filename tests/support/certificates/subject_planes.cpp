// The ways in which attention over a cache in planes can be called.
#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>

#include <tamis/attend.h>
#include <tamis/cache.h>

#include "kernels/kernels.h"
#include "sieve/testing.h"
#include "support/cache/cache_history.h"
#include "support/certificates/subject.h"

namespace tamis::test {
namespace {

/// Keeps the memory that a thread's caches release and reuses it for the next ones, since
/// allocating it takes longer than attending.
class KeptMemory final : public Memory {
 public:
  void* allocate(std::size_t bytes) noexcept override {
    for (auto& [size, memory] : kept_)
      if (size == bytes && memory != nullptr) return std::exchange(memory, nullptr);
    return std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  }
  void release(void* memory, std::size_t bytes) noexcept override {
    for (auto& [size, place] : kept_)
      if (place == nullptr && (size == 0 || size == bytes)) {
        size = bytes;
        place = memory;
        return;
      }
    std::free(memory);
  }
  ~KeptMemory() override {
    for (auto& [size, memory] : kept_) std::free(memory);
  }

 private:
  std::array<std::pair<std::size_t, void*>, 16> kept_{};
};

struct Mode {
  int bits;
  int look;
  Prefer prefer;
};

/// A hash of everything that decides the cache's contents and queries; equal questions
/// give equal keys.
std::uint64_t key_of(const Question& question, int bits) {
  const Shape& shape = question.shape;
  const KvPages& kv = question.kv[0];
  std::uint64_t key = 0;
  const auto add = [&](const void* data, std::int64_t bytes) {
    key = XXH3_64bits_withSeed(data, static_cast<std::size_t>(bytes), key);
  };
  const std::int64_t numbers[] = {bits,      question.sinks, static_cast<std::int64_t>(shape.dtype),
                                  kv.tokens, shape.head_dim, shape.value_dim};
  add(numbers, sizeof numbers);
  add(&shape.scale, sizeof shape.scale);
  add(question.q.row(0).data(), shape.rows() * shape.head_dim * 4);
  add(kv.k[0], kv.tokens * kv.k_stride * size_of(shape.dtype));  // pages are contiguous in memory
  add(kv.v[0], kv.tokens * kv.v_stride * size_of(shape.dtype));
  return key;
}

constexpr Sequence sequence = 7;

/// A cache that holds the question's sequence. Each thread keeps its last caches, because many
/// ways are tried on one question.
const Cache& cache_of(const Question& question, int bits, Workspace& workspace) {
  struct Kept {
    std::uint64_t key = 0;
    const kernels::Kernels* kernels = nullptr;
    std::optional<Cache> cache;
  };
  thread_local KeptMemory memory;
  thread_local std::array<Kept, 5> kept;
  Kept& place = kept[static_cast<std::size_t>(bits / 4)];
  const std::uint64_t key = key_of(question, bits);
  if (place.cache && place.key == key && place.kernels == &kernels::kernels()) return *place.cache;
  const Shape& shape = question.shape;
  const KvPages& kv = question.kv[0];
  std::mt19937_64 random(key);
  CacheOptions options;
  options.bits = bits;
  options.dtype = shape.dtype;
  options.sinks = question.sinks;
  options.raw_below = random() % 8 == 0 ? 200 : 0;
  options.memory = &memory;
  place.cache.emplace(
      Heads{static_cast<int>(shape.query_heads), 1, shape.head_dim, shape.value_dim, shape.scale},
      options);
  place.key = key;
  place.kernels = &kernels::kernels();
  Happenings may;
  may.sheds = random() % 4 == 0;
  may.files = random() % 64 == 0;
  may.pieces = may.cuts = may.forks = random() % 4 != 0;
  live_through(*place.cache, sequence,
               {kv.tokens,
                {kv.k[0], shape.dtype, kv.k_stride, 0, 1, 0},
                {kv.v[0], shape.dtype, kv.v_stride, 0, 1, 0}},
               may, random, workspace);
  return *place.cache;
}

std::optional<Certified> ask(const Question& question, const Budget& budget, const Mode& mode,
                             Workspace& workspace) {
  const Shape& shape = question.shape;
  const KvPages& kv = question.kv[0];
  const std::int64_t rows = shape.query_heads;
  const Cache& cache = cache_of(question, mode.bits, workspace);
  const std::int64_t queries = 1;
  const tamis::Plan plan(cache, {{&sequence, 1}, {&queries, 1}, {}});
  AttendOptions options;
  options.look = mode.look;
  options.prefer = mode.prefer;
  Certified answer;
  answer.out.resize(static_cast<std::size_t>(rows * shape.value_dim));
  answer.lse.resize(static_cast<std::size_t>(rows));
  std::vector<tamis::Certificate> certificates(static_cast<std::size_t>(rows));
  std::vector<double> weights(static_cast<std::size_t>(rows * kv.tokens));
  sieve::attend_telling(
      cache, plan, {question.q.row(0).data(), DType::f32, rows * shape.head_dim, shape.head_dim},
      {&budget, 1}, options, workspace,
      {{answer.out.data(), DType::f32, rows * shape.value_dim, shape.value_dim},
       answer.lse,
       certificates},
      {weights.data(), kv.tokens});
  bool sparse = true;
  for (const tamis::Certificate& c : certificates) {
    if (c.reached == tamis::Reached::not_finite) return std::nullopt;  // the logits overflow f32
    answer.claims.push_back({c.tau, c.error, c.lse_error, c.dense == Dense::no});
    sparse = sparse && c.dense == Dense::no;
  }
  if (sparse) answer.weights.assign(weights.begin(), weights.end());
  return answer;
}

}  // namespace

std::vector<Way> ways_of_planes() {
  std::vector<Way> ways;
  const auto add = [&](const char* text, const Mode& mode) {
    const Budget budget = parse_budget(text);
    ways.push_back({fmt::format("{}, {} bits{}{}", text, mode.bits,
                                mode.look == 0 ? "" : fmt::format(", look {}", mode.look),
                                mode.prefer == Prefer::time ? ", time" : ""),
                    [budget, mode](const Question& question, Workspace& workspace) {
                      return ask(question, budget, mode, workspace);
                    }});
  };
  for (const int bits : {8, 12, 16}) {
    for (const char* text : {"mass:0.5", "mass:0.05", "mass:0.001", "bytes:0.3", "bytes:0.6"})
      for (const int look : {1, 2}) add(text, {bits, look, Prefer::bytes});
    for (const char* text : {"window:128,4", "topk:1", "topk:130", "power:9,0.5"})
      add(text, {bits, 0, Prefer::bytes});
  }
  add("mass:0.05", {12, 0, Prefer::time});
  add("mass:0.01", {16, 0, Prefer::time});
  return ways;
}

}  // namespace tamis::test
