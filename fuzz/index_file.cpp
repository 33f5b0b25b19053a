// Reads an index of one block of zeros and attends with it. Hashes are compared last: what is refused for
// its checksum alone must be harmless too.
#include "sieve/index_file.h"

#include <tamis/sieve.h>

#include <array>
#include <utility>
#include <vector>

#include "target.h"

namespace {

constexpr std::int64_t head_dim = 3;
constexpr std::int64_t value_dim = 2;
constexpr std::int64_t tokens = 200;  // one of the two blocks is not whole

void attend_with(const tamis::Index& index, std::span<const tamis::KvPages> kv) {
  static tamis::Workspace workspace(1);
  tamis::Shape shape;
  shape.dtype = tamis::DType::f16;
  shape.head_dim = head_dim;
  shape.value_dim = value_dim;
  tamis::SieveOptions options;
  options.dense_below = 1;
  constexpr std::array<float, head_dim> q{1, -2, 0.5F};
  for (const char* text : {"mass:0.05", "bytes:0.25", "topk:3", "window:9,2"})
    for (const auto& [ladder, direct] : {std::pair{true, false}, {true, true}, {false, false}}) {
      const tamis::Budget budget = tamis::parse_budget(text);
      std::array<float, value_dim> out{};
      float lse = 0;
      tamis::Certificate certificate;
      options.ladder = ladder;
      options.fewest_bytes = options.forecast = !direct;
      tamis::attend(index, shape, {q.data(), 1, head_dim}, kv, {}, {&budget, 1}, options, workspace,
                    {out.data(), 1, value_dim}, {&lse, 1}, {&certificate, 1});
    }
}

}  // namespace

void fuzz_one(std::span<const std::byte> bytes) {
  static const std::vector<std::uint16_t> zeros(tokens * head_dim);
  static const tamis::PageTables tables(tamis::DType::f16, zeros.data(), zeros.data(), 1, tokens, head_dim,
                                        value_dim);
  const auto source = tamis::memory_source("input", bytes);
  const tamis::Index index = tamis::read_index_unhashed(*source, tamis::DType::f16, tables.heads());
  attend_with(index, tables.heads());
  (void)tamis::read_index(*source, tamis::DType::f16, tables.heads());
}
