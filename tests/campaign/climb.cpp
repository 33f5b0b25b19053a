// An adversary that searches: small problems are changed at random, and a change is kept if it brings the
// true distance nearer to the certified one. What random problems leave loose it makes tight, down to
// rounding. About 0.1 ms per step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <random>

#include "campaign/campaign.h"
#include "core/parallel.h"
#include "support/certificates.h"

namespace tamis::testing {
namespace {

enum class Claim { tau, error, lse };

/// One search.
struct Start {
  Budget budget;
  bool ladder;
  bool direct;
  Claim claim;
  DType dtype;
  std::int64_t d;
};

struct Position {
  Shape shape;
  std::int64_t tokens = 0;
  Numbers numbers;
};

struct Height {
  double ratio = 0;  ///< true / certified; above 1 is a violation
  bool violated = false;
  std::string text;
};

std::vector<std::byte> as_stored(DType dtype, const std::vector<float>& x) {
  std::vector<std::byte> bytes(x.size() * static_cast<std::size_t>(size_of(dtype)));
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (dtype == DType::f32) {
      std::memcpy(bytes.data() + 4 * i, &x[i], 4);
    } else {
      const std::uint16_t bits = dtype == DType::f16 ? to_f16(x[i]).bits : to_bf16(x[i]).bits;
      std::memcpy(bytes.data() + 2 * i, &bits, 2);
    }
  }
  return bytes;
}

Height height(const Position& at, const Start& start, Workspace& workspace) {
  const Shape& shape = at.shape;
  for (const std::vector<float>* part : {&at.numbers.k, &at.numbers.v})
    for (const float x : *part)
      if (!(std::abs(x) < 6e4F)) return {};  // f16 holds no more
  const std::vector<std::byte> k = as_stored(shape.dtype, at.numbers.k);
  const std::vector<std::byte> v = as_stored(shape.dtype, at.numbers.v);
  const PageTables tables(shape.dtype, k.data(), v.data(), 1, at.tokens, shape.head_dim, shape.value_dim);
  Index index({shape.dtype, 1, shape.head_dim, shape.value_dim, 0, true});
  index.extend(tables.heads(), workspace);
  SieveCall call;
  call.index = &index;
  call.shape = shape;
  call.q = {at.numbers.q.data(), shape.rows(), shape.head_dim};
  call.kv = tables.heads();
  call.budgets = {&start.budget, 1};
  call.ladder = start.ladder;
  call.fewest_bytes = call.forecast = !start.direct;
  const std::optional<SieveResult> result = run_attend(call, workspace);
  if (!result || result->certificates[0].dense) return {};
  const Oracle oracle(shape, call.q, call.kv, {});
  const ExactRow& exact = oracle[0];
  const Certificate& c = result->certificates[0];
  const double tau = total_variation(result->weights, exact) - exact.tau_slack;
  const double error = distance(result->out, exact) - exact.error_slack;
  const auto lse = static_cast<double>(std::abs(result->lse[0] - exact.lse)) - exact.lse_slack;
  Height h;
  h.violated = !(tau <= c.tau && error <= c.error && lse <= c.lse_error);
  // Odds instead of shares: near 1 every share is close to every other.
  if (start.claim == Claim::tau) h.ratio = tau / (1 - tau) * (1 - c.tau) / c.tau;
  if (start.claim == Claim::error) h.ratio = error / c.error;
  if (start.claim == Claim::lse) h.ratio = lse / c.lse_error;
  h.text = fmt::format("tau {:.9g} of {:.9g}, error {:.9g} of {:.9g}, lse {:.9g} of {:.9g}", tau, c.tau,
                       error, c.error, lse, c.lse_error);
  return h;
}

void change(Position& at, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  const auto d = static_cast<std::size_t>(at.shape.head_dim);
  const auto any = [&](std::vector<float>& x) -> float& { return x[random() % x.size()]; };
  Numbers& n = at.numbers;
  const std::size_t count = 1 + random() % (random() % 2 == 0 ? 3 : 60);
  for (std::size_t i = 0; i < count; ++i) switch (random() % 8) {
      case 0:
        any(n.k) += 0.1F * normal(random);
        break;
      case 1:
        any(n.k) += 0.01F * normal(random);
        break;
      case 2:
        any(n.k) = any(n.k);
        break;
      case 3:
        any(n.k) = normal(random);
        break;
      case 4:
        any(n.q) *= 1 + 0.05F * normal(random);
        break;
      case 5:
        any(n.v) *= 1 + 0.3F * normal(random);
        break;
      case 6: {  // a key along the query
        const float length = 0.02F * normal(random);
        float* key = n.k.data() + random() % (n.k.size() / d) * d;
        for (std::size_t c = 0; c < d; ++c) key[c] += std::copysign(length, length * n.q[c]);
        break;
      }
      default: {  // a key onto another
        const float* from = n.k.data() + random() % (n.k.size() / d) * d;
        std::copy_n(from, d, n.k.data() + random() % (n.k.size() / d) * d);
        break;
      }
    }
}

std::vector<Start> starts() {
  std::vector<Start> all;
  for (const char* text : {"window:1,0", "mass:0.3", "mass:0.02", "topk:8", "bytes:0.3"})
    for (const auto& [ladder, direct] :
         {std::pair{true, false}, std::pair{true, true}, std::pair{false, false}}) {
      const Budget budget = parse_budget(text);
      if (direct && budget.kind != Budget::Kind::mass) continue;
      for (const Claim claim : {Claim::tau, Claim::error, Claim::lse})
        for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
          for (const std::int64_t d : {1, 2, 8, 33})
            all.push_back({budget, ladder, direct, claim, dtype, d});
    }
  return all;
}

}  // namespace

std::vector<ClimbLine> climb(const CampaignOptions& options, std::int64_t steps) {
  const std::vector<Start> all = starts();
  std::vector<ClimbLine> lines;
  std::mutex mutex;
  parallel_for(static_cast<std::int64_t>(all.size()), options.threads, [&](std::int64_t item, int) {
    const Start& start = all[static_cast<std::size_t>(item)];
    std::mt19937_64 random(options.seed * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(item));
    Workspace workspace(1);
    Position at;
    at.shape = {1, 1, 1, start.d, 2, start.dtype, 1.0F};
    at.tokens = 129 + 128 * static_cast<std::int64_t>(random() % 2);
    at.numbers = draw(Kind::normal, at.shape, at.tokens, random);
    for (float& x : at.numbers.q) x *= 2 / std::sqrt(static_cast<float>(start.d));
    Height best = height(at, start, workspace);
    std::int64_t violations = best.violated;
    for (std::int64_t s = 0; s < steps; ++s) {
      Position next = at;
      change(next, random);
      const Height h = height(next, start, workspace);
      violations += h.violated;
      if (h.ratio < best.ratio) continue;
      best = h;
      at = std::move(next);
    }
    const char* claims[] = {"tau", "error", "lse"};
    const std::lock_guard lock(mutex);
    lines.push_back({fmt::format("{}{}", to_string(start.budget),
                                 start.direct   ? ", direct"
                                 : start.ladder ? ""
                                                : ", ladder off"),
                     claims[static_cast<int>(start.claim)],
                     fmt::format("{} d = {}: {}", name_of(start.dtype), start.d, best.text), best.ratio,
                     steps + 1, violations});
  });
  std::sort(lines.begin(), lines.end(), [](const ClimbLine& a, const ClimbLine& b) {
    return std::tie(a.budget, a.claim, b.ratio, a.where) < std::tie(b.budget, b.claim, a.ratio, b.where);
  });
  return lines;
}

}  // namespace tamis::testing
