// Exact attention: the definitions of the paper in f64, and fast dense attention in f32.
#pragma once

#include <cstdint>
#include <span>

#include <tamis/dtype.h>
#include <tamis/export.h>
#include <tamis/kv.h>
#include <tamis/view.h>
#include <tamis/workspace.h>

namespace tamis {

// ---- The definitions (Likhosherstov, Choromanski and Weller, equations (1) to (3)), in f64 ----
// x is n × d_hid; w_q, w_k and w_v are d_hid × d. All are plain loops that take O(n²·d) time and
// O(n·d) scratch memory. `usam` is a literal exponential and overflows to infinity where the logit
// exceeds 709; the normalised forms subtract the row maximum first and do not overflow. All are
// safe to call concurrently.

TAMIS_API void usam(View<const double> x, View<const double> w_q, View<const double> w_k,
                    View<double> out);
TAMIS_API void sam(View<const double> x, View<const double> w_q, View<const double> w_k,
                   View<double> out);
TAMIS_API void sa(View<const double> x, View<const double> w_q, View<const double> w_k,
                  View<const double> w_v, View<double> out);
/// The causal forms, in which entries right of the diagonal are zero.
TAMIS_API void cusam(View<const double> x, View<const double> w_q, View<const double> w_k,
                     View<double> out);
TAMIS_API void csam(View<const double> x, View<const double> w_q, View<const double> w_k,
                    View<double> out);
TAMIS_API void csa(View<const double> x, View<const double> w_q, View<const double> w_k,
                   View<const double> w_v, View<double> out);

// ---- Attention of queries over keys and values ----

/// The largest head_dim and value_dim.
inline constexpr std::int64_t largest_dim = 1024;

/// The sizes that all heads of a call share.
struct Shape {
  std::int64_t query_heads =
      1;  ///< a multiple of kv_heads; head h reads KV head h·kv_heads/query_heads
  std::int64_t kv_heads = 1;
  std::int64_t queries = 1;    ///< per query head
  std::int64_t head_dim = 0;   ///< d, of queries and keys; 1 … 1024
  std::int64_t value_dim = 0;  ///< d_v, of values and outputs; 1 … 1024
  DType dtype = DType::f32;    ///< of keys and values: f32, f16 or bf16
  float scale = 1.0F;          ///< logits are scale · q·k

  [[nodiscard]] std::int64_t rows() const { return query_heads * queries; }
  [[nodiscard]] std::int64_t group() const { return query_heads / kv_heads; }
};

/// Computes the attention of every query, in f32.
///   q     rows() × head_dim; row h·queries + i is query i of head h
///   kv    one entry per KV head
///   seen  one entry per query: query i attends to keys 0 … seen[i] − 1 of its head; empty means
///         all keys. Causal attention of a query at position p has seen = p + 1.
///   out   rows() × value_dim
///   lse   rows() values: log Σ exp(logit), natural logarithm
/// A query that sees no key has out = 0 and lse = −inf. Throws `input`, naming the row, if NaN,
/// infinity or an overflow of f32 in q, k or v reaches a result. A value that is not finite may
/// spoil every query that shares its page, whether the query sees it or not.
///
/// Up to 8 rows per KV head are a decode: K and V are read once in their own dtype, so that
/// kv_heads·tokens·(d + d_v)·size_of(dtype) bytes are moved and 2·rows·tokens·(d + d_v) flops done.
/// More rows are a prefill, which runs in tiles of 16 or 32 queries at the arithmetic limit.
/// Allocates nothing once the workspace has served a call as large. Safe to call concurrently, each
/// call with its own Workspace. The result is bit-identical for any number of threads; in a decode,
/// a row's bits do not depend on the other rows. `attention_rounding` bounds the distance from
/// exact attention.
TAMIS_API void dense(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
                     std::span<const std::int64_t> seen, Workspace& workspace, View<float> out,
                     std::span<float> lse);

/// The same attention in f64 and plain loops, on the calling thread: the reference that `dense` is
/// compared with. Allocates 8·tokens·(d + d_v) bytes, for one head at a time. May run concurrently.
TAMIS_API void reference(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
                         std::span<const std::int64_t> seen, View<double> out,
                         std::span<double> lse);

// ---- Softmax states: attention over parts of the keys that can be merged ----

/// For each row, m is the largest logit, l = Σ exp(logit − m), and o = Σ exp(logit − m)·v, not yet
/// divided by l. A row that has seen no key has m = −inf, l = 0, o = 0. The logits here are in
/// units of log 2, so that exponentials have base 2; `finish` converts to natural units.
struct SoftmaxStates {
  std::span<float> m;
  std::span<float> l;
  View<float> o;
};

/// `dense` without the final division. Merge states of disjoint sets of keys, then call `finish`.
TAMIS_API void dense_states(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
                            std::span<const std::int64_t> seen, Workspace& workspace,
                            const SoftmaxStates& states);
/// Merges `from` into `into`, which becomes the state of both sets of keys together. Commutative up
/// to rounding. O(rows·d_v). Throws `usage` if the two differ in rows or in value_dim.
TAMIS_API void merge(const SoftmaxStates& into, const SoftmaxStates& from);
/// Computes out = o / l and lse = log l + m·log 2; a row without keys gives out = 0, lse = −inf.
/// Throws `input`, naming the row, if a result is not finite, and `usage` if `out` or `lse` does
/// not fit the states. O(rows·d_v).
TAMIS_API void finish(const SoftmaxStates& states, View<float> out, std::span<float> lse);

// ---- Bounds on rounding ----

/// Upper bounds on the distance of f32 attention of one query from exact attention. They hold for
/// any order of summation that `dense` uses, on any target. docs/rounding.md derives them.
struct Rounding {
  double tau = 0;    ///< total-variation distance between the exact weights and those used
  double error = 0;  ///< ‖out − exact‖₂, absolute
  double lse = 0;    ///< |lse − exact|
};

/// Requires query_norm = ‖q‖₂, and key_norm ≥ ‖k_j‖₂ and value_norm ≥ ‖v_j‖₂ for every key seen.
/// `keys` is the number of keys seen.
TAMIS_API Rounding attention_rounding(const Shape& shape, std::int64_t keys, double query_norm,
                                      double key_norm, double value_norm);

/// `attention_rounding` of every row of a call of `dense` with the same arguments. Reads Q, K and V
/// once, on the calling thread, and allocates 16 bytes per token. Safe to call concurrently.
TAMIS_API void dense_rounding(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
                              std::span<const std::int64_t> seen, std::span<Rounding> roundings);

}  // namespace tamis
