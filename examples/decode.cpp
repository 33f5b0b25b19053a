// Decoding: each step appends one token's key and value to a store, then attends to all of them.
// The vectors are made up; a model would give its own.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <tamis/attention.h>
#include <tamis/error.h>
#include <tamis/kv.h>

namespace {

/// Smooth numbers in place of a model's projections.
std::vector<float> vectors(std::int64_t heads, std::int64_t dim, double phase) {
  std::vector<float> x(static_cast<std::size_t>(heads * dim));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(std::sin(phase + 0.7 * static_cast<double>(i)));
  return x;
}

void decode() {
  tamis::Shape shape;
  shape.query_heads = 8;
  shape.kv_heads = 2;  // each KV head serves four query heads
  shape.head_dim = 64;
  shape.value_dim = 64;
  shape.dtype = tamis::DType::bf16;
  shape.scale = 1.0F / 8;

  tamis::KvStore store(shape.dtype, shape.kv_heads, shape.head_dim, shape.value_dim);
  tamis::Workspace workspace;  // every core; results do not depend on how many
  std::vector<float> out(static_cast<std::size_t>(shape.rows() * shape.value_dim));
  std::vector<float> lse(static_cast<std::size_t>(shape.rows()));

  for (int step = 0; step < 300; ++step) {
    const auto k = vectors(shape.kv_heads, shape.head_dim, 0.1 * step);
    const auto v = vectors(shape.kv_heads, shape.value_dim, 0.3 * step);
    store.append({k.data(), shape.kv_heads, shape.head_dim}, {v.data(), shape.kv_heads, shape.value_dim});

    const auto q = vectors(shape.query_heads, shape.head_dim, 0.2 * step);
    tamis::dense(shape, {q.data(), shape.rows(), shape.head_dim}, store.heads(), {}, workspace,
                 {out.data(), shape.rows(), shape.value_dim}, lse);
  }
  std::printf("%lld tokens in %zu bytes; head 0: log-sum-exp %.4f, output %.4f %.4f …\n",
              static_cast<long long>(store.tokens()), store.bytes(), static_cast<double>(lse[0]),
              static_cast<double>(out[0]), static_cast<double>(out[1]));
}

}  // namespace

int main() {
  try {
    decode();
  } catch (const tamis::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
