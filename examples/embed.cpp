// Shows how a C++ program embeds the engine. It appends a prompt to the cache; then each decoding
// step appends one token and attends, and at the end it prints what a certificate proves. The
// program supplies its own threads, created anew for every loop to keep the example short. The
// vectors are made up; a model would supply its own.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include <tamis/attend.h>
#include <tamis/error.h>

namespace {

class Threads final : public tamis::Executor {
 public:
  [[nodiscard]] int concurrency() const override { return 2; }
  void run(int workers, void* context, void (*body)(void* context, int worker)) override {
    std::vector<std::jthread> others;
    for (int worker = 1; worker < workers; ++worker) others.emplace_back(body, context, worker);
    body(context, 0);
  }
};

constexpr tamis::Heads heads{
    .query_heads = 8, .kv_heads = 2, .key_dim = 64, .value_dim = 64, .scale = 0.125F};
constexpr std::int64_t dim = 64;

/// Returns smooth numbers in place of a model's projections, for `count` heads of `tokens` tokens
/// from token `first` on.
std::vector<float> vectors(std::int64_t first, std::int64_t tokens, std::int64_t count,
                           double speed) {
  std::vector<float> x(static_cast<std::size_t>(tokens * count * dim));
  for (std::int64_t i = 0; i < std::ssize(x); ++i)
    x[static_cast<std::size_t>(i)] =
        static_cast<float>(2 * std::sin(speed * static_cast<double>(first + i / (count * dim)) +
                                        0.7 * static_cast<double>(i % (count * dim))));
  return x;
}

void append(tamis::Cache& cache, std::int64_t first, std::int64_t tokens,
            tamis::Workspace& workspace) {
  const auto k = vectors(first, tokens, heads.kv_heads, 0.1);
  const auto v = vectors(first, tokens, heads.kv_heads, 0.3);
  const auto rows = [](const std::vector<float>& x) {
    return tamis::Rows{x.data(), tamis::DType::f32, heads.kv_heads * dim, dim};
  };
  const tamis::Sequence sequence = 1;
  cache.append({&sequence, 1}, {&tokens, 1}, rows(k), rows(v), workspace);
}

void decode() {
  constexpr std::int64_t prompt = 3000;
  constexpr std::int64_t steps = 100;
  Threads threads;
  tamis::Workspace workspace(0, threads);
  tamis::Cache cache(heads, {.dtype = tamis::DType::f32});  // a model has one per layer
  const tamis::Budget budget = tamis::parse_budget("mass:0.05");
  const tamis::Sequence sequence = 1;
  const std::int64_t one = 1;
  std::vector<float> out(heads.query_heads * dim);
  std::vector<float> lse(heads.query_heads);
  std::vector<tamis::Certificate> certificates(heads.query_heads);

  cache.add(sequence);
  append(cache, 0, prompt, workspace);
  for (std::int64_t token = prompt; token < prompt + steps; ++token) {
    append(cache, token, 1, workspace);
    const tamis::Plan plan(cache, {{&sequence, 1}, {&one, 1}, {}});  // serves all layers
    const auto q = vectors(token, 1, heads.query_heads, 0.1);
    tamis::attend(
        cache, plan, {q.data(), tamis::DType::f32, heads.query_heads * dim, dim}, {&budget, 1}, {},
        workspace,
        {{out.data(), tamis::DType::f32, heads.query_heads * dim, dim}, lse, certificates});
  }
  const tamis::Certificate& first = certificates[0];
  std::printf("%lld tokens in %zu bytes; head 0: output %.4f %.4f …\n",
              static_cast<long long>(cache.tokens(sequence)), cache.bytes() - cache.free_bytes(),
              static_cast<double>(out[0]), static_cast<double>(out[1]));
  std::printf("proved: tau %.3g, output within %.3g; read %lld bytes of %lld\n", first.tau,
              first.error, static_cast<long long>(first.bytes),
              static_cast<long long>(first.dense_bytes));
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
