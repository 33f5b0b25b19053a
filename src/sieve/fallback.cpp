#include "sieve/fallback.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/check.h"
#include "attention/workspace.h"
#include "core/fail.h"

namespace tamis {
namespace {

struct Norms {
  double key = 0;
  double value = 0;
};

/// The largest norm of rows first … end − 1 of one page, at least.
double largest_norm(const DenseCall& call, const void* page, std::int64_t stride, std::int64_t dim,
                    std::int64_t first, std::int64_t end, float* wide) {
  const std::int64_t size = size_of(call.shape.dtype);
  double most = 0;
  for (std::int64_t j = first; j < end; ++j) {
    call.kernels.widen[call.type](static_cast<const std::byte*>(page) + j * stride * size, wide, dim);
    double norm = std::sqrt(static_cast<double>(call.kernels.sieve.largest_norm2(wide, dim, 1, dim)));
    if (!(norm < 0x1p60 && norm > 0x1p-60)) {  // the f32 sum of squares left its range
      double sum = 0;
      for (std::int64_t c = 0; c < dim; ++c) sum += static_cast<double>(wide[c]) * wide[c];
      norm = std::sqrt(sum);
    }
    most = std::max(most, norm);
  }
  return most * (1 + static_cast<double>(dim + 8) * 0x1p-24);
}

/// Upper bounds over the first `keys` keys of a head.
Norms norms_of(const DenseCall& call, const Index::Impl& index, std::int64_t kv_head, std::int64_t keys,
               float* wide) {
  const KvPages& kv = call.kv[static_cast<std::size_t>(kv_head)];
  const std::int64_t blocks = std::min(index.blocks, (keys + block_keys - 1) / block_keys);
  const Largest indexed = index.largest_of(kv_head, blocks);
  Norms norms{indexed.key, indexed.value};
  for (std::int64_t first = blocks * block_keys; first < keys; first += page_tokens) {
    const auto page = static_cast<std::size_t>(first / page_tokens);
    const std::int64_t rows = std::min(page_tokens, keys - first);
    norms.key = std::max(norms.key,
                         largest_norm(call, kv.k[page], kv.k_stride, call.shape.head_dim, 0, rows, wide));
    norms.value = std::max(
        norms.value, largest_norm(call, kv.v[page], kv.v_stride, call.shape.value_dim, 0, rows, wide));
  }
  // ‖k‖ ≤ √1024·2¹²⁸, also where its f32 bound overflowed.
  norms.key = std::min(norms.key, 0x1p134);
  norms.value = std::min(norms.value, 0x1p134);
  return norms;
}

/// For checks: 2^(logit − the largest), page by page with the kernel that decode uses. Relative to the
/// log-sum-exp, which is a float, all of them may be 0 or infinite where logits are large.
void dense_weights(const DenseCall& call, std::int64_t kv_head, std::int64_t row, std::int64_t seen,
                   Workspace::Impl& workspace, std::span<float> weights) {
  const KvPages& kv = call.kv[static_cast<std::size_t>(kv_head)];
  const std::int64_t stride = round_up(call.shape.head_dim, call.kernels.pad);
  float* query = workspace.worker[0].get(stride + page_keys);
  float* logits = query + stride;
  std::fill(query, query + stride, 0.0F);
  const auto from = call.q.row(row);
  for (std::size_t c = 0; c < from.size(); ++c)
    query[place(call.kernels, call.type, static_cast<std::int64_t>(c))] = from[c] * call.factor;
  float top = -std::numeric_limits<float>::infinity();
  for (std::int64_t first = 0; first < seen; first += page_tokens) {
    const void* page = kv.k[first / page_tokens];
    const auto keys = static_cast<int>(std::min(page_tokens, seen - first));
    call.kernels.logits[call.type](query, stride, 1, page, kv.k_stride, keys,
                                   static_cast<int>(call.shape.head_dim), logits, page_keys, page, 0);
    std::copy_n(logits, keys, weights.begin() + first);
    top = std::max(top, call.kernels.maximum(logits, keys));
  }
  for (float& x : weights.first(static_cast<std::size_t>(seen)))
    x = static_cast<float>(std::exp2(static_cast<double>(x) - static_cast<double>(top)));
}

/// The certificates of one KV head's rows.
void certify_dense(const DenseCall& call, std::int64_t kv_head, const Index::Impl& index,
                   const Scanned& scanned, const SieveOptions& options, Workspace& workspace,
                   std::span<Certificate> certificates) {
  const Shape& shape = call.shape;
  const std::int64_t rows = shape.group() * shape.queries;
  const KvPages& kv = call.kv[static_cast<std::size_t>(kv_head)];
  std::int64_t keys = 0;
  for (std::int64_t i = 0; i < shape.queries; ++i) keys = std::max(keys, keys_seen(call.seen, i, kv));
  float* wide = workspace.impl().worker[0].get(std::max(shape.head_dim, shape.value_dim));
  const Norms norms = norms_of(call, index, kv_head, keys, wide);
  Certificate read;
  read.dense = true;
  read.exact_keys = read.exact_values = keys;
  read.coarse_bytes = scanned.blocks * static_cast<std::int64_t>(index.layout.coarse_bytes);
  if (scanned.both)
    read.middle_bytes = scanned.blocks * static_cast<std::int64_t>(index.layout.low_bytes());
  read.exact_bytes = keys * (shape.head_dim + shape.value_dim) * size_of(shape.dtype);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t row = kv_head * rows + r;
    const std::int64_t seen = keys_seen(call.seen, r % shape.queries, kv);
    Certificate& certificate = certificates[static_cast<std::size_t>(row)];
    certificate = seen == 0 ? Certificate{} : read;
    certificate.dense = true;
    double norm2 = 0;
    for (const float x : call.q.row(row)) norm2 += static_cast<double>(x) * x;
    const Rounding bound =
        attention_rounding(shape, seen, std::sqrt(norm2) * (1 + 0x1p-40), norms.key, norms.value);
    certificate.tau = bound.tau;
    certificate.error = bound.error;
    certificate.lse_error = bound.lse;
    if (options.weights.rows > 0)
      dense_weights(call, kv_head, row, seen, workspace.impl(), options.weights.row(row));
  }
}

}  // namespace

void attend_densely(const DenseCall& call, std::int64_t first_head, const Index::Impl& index,
                    std::span<const Scanned> scanned, const SieveOptions& options, Workspace& workspace,
                    View<float> out, std::span<float> lse, std::span<Certificate> certificates) {
  // One call for all of them: a head's bits do not depend on the others.
  Shape shape = call.shape;
  shape.kv_heads = static_cast<std::int64_t>(scanned.size());
  shape.query_heads = shape.kv_heads * call.shape.group();
  const std::int64_t first = first_head * call.shape.group() * shape.queries;
  dense(shape, call.q.middle_rows(first, shape.rows()),
        call.kv.subspan(static_cast<std::size_t>(first_head), scanned.size()), call.seen, workspace,
        out.middle_rows(first, shape.rows()),
        lse.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(shape.rows())));
  for (std::size_t h = 0; h < scanned.size(); ++h)
    certify_dense(call, first_head + static_cast<std::int64_t>(h), index, scanned[h], options, workspace,
                  certificates);
}

void check_weights(const Shape& shape, std::span<const KvPages> kv, std::span<const std::int64_t> seen,
                   View<float> weights) {
  std::int64_t most = 0;
  for (const KvPages& head : kv)
    for (std::int64_t i = 0; i < shape.queries; ++i) most = std::max(most, keys_seen(seen, i, head));
  if (weights.rows < shape.rows() || weights.cols < most || weights.stride < weights.cols ||
      (weights.data == nullptr && most > 0))
    fail(Code::usage, "the weights are {} × {} with stride {}; they must be at least {} × {}", weights.rows,
         weights.cols, weights.stride, shape.rows(), most);
}

}  // namespace tamis
