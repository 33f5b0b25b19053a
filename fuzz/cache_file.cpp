// Reads a saved sequence and uses it: attends, appends, forks, sheds and truncates. Checksums are
// ignored at first and compared in a second reading, because a file with only a wrong checksum must
// be harmless too.
#include "cache/file.h"

#include <tamis/attend.h>

#include <array>

#include "target.h"

namespace {

using namespace tamis;

constexpr Sequence sequence = 1;
constexpr Sequence other = 2;

void attend_to(const Cache& cache, Sequence to, Workspace& workspace) {
  if (cache.tokens(to) == 0) return;
  constexpr std::array<float, 6> q{1, -2, 0.5F, 0, 3, -1};
  const std::int64_t queries = 1;
  const Plan plan(cache, {{&to, 1}, {&queries, 1}, {}});
  for (const char* text : {"mass:0.05", "bytes:0.25", "topk:3", "window:9,2"})
    for (const int look : {1, 2}) {
      const Budget budget = parse_budget(text);
      AttendOptions options;
      options.look = look;
      std::array<float, 4> out{};
      std::array<float, 2> lse{};
      std::array<Certificate, 2> certificates;
      attend(cache, plan, {q.data(), DType::f32, 6, 3}, {&budget, 1}, options, workspace,
             {{out.data(), DType::f32, 4, 2}, lse, certificates});
    }
}

void live_with(Cache& cache, Workspace& workspace) {
  attend_to(cache, sequence, workspace);
  constexpr std::array<std::uint16_t, 3> row{0x3C00, 0x4000, 0xBC00};  // 1, 2, −1
  const Rows rows{row.data(), DType::f16, 3, 3};
  const std::int64_t one = 1;
  cache.append({&sequence, 1}, {&one, 1}, rows, rows, workspace);
  cache.fork(sequence, cache.tokens(sequence) / 2, other);
  cache.shed(sequence, 8, cache.tokens(sequence));
  cache.truncate(sequence, cache.tokens(sequence) * 3 / 4);
  attend_to(cache, sequence, workspace);
  attend_to(cache, other, workspace);
}

}  // namespace

void fuzz_one(std::span<const std::byte> bytes) {
  static Workspace workspace(1);
  const auto source = tamis::core::memory_source("input", bytes);
  CacheOptions options;
  options.dtype = DType::f16;
  options.sinks = 2;
  options.raw_below = 0;
  Cache cache({.query_heads = 2, .kv_heads = 1, .key_dim = 3, .value_dim = 2, .scale = 0.5F},
              options);
  Cache::Impl& inside = cache.inside();
  inside.insert(sequence, tamis::cache::ContentsFile::read(*source, inside,
                                                           tamis::cache::Checksums::ignored));
  live_with(cache, workspace);
  (void)tamis::cache::ContentsFile::read(*source, inside);
}
