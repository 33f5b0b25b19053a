// Exact attention: the definitions of the paper in f64, and a fast dense engine in f32.
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
// x is n × d_hid; w_q, w_k and w_v are d_hid × d. Plain loops; O(n²·d) time, O(n·d) scratch.
// `usam` is a literal exponential and overflows to infinity where the logit exceeds 709; the
// normalised forms subtract the row maximum first and do not. Safe to call concurrently.

TAMIS_API void usam(View<const double> x, View<const double> w_q, View<const double> w_k,
                    View<double> out);
TAMIS_API void sam(View<const double> x, View<const double> w_q, View<const double> w_k,
                   View<double> out);
TAMIS_API void sa(View<const double> x, View<const double> w_q, View<const double> w_k,
                  View<const double> w_v, View<double> out);
/// The causal forms: entries right of the diagonal are zero.
TAMIS_API void cusam(View<const double> x, View<const double> w_q, View<const double> w_k,
                     View<double> out);
TAMIS_API void csam(View<const double> x, View<const double> w_q, View<const double> w_k,
                    View<double> out);
TAMIS_API void csa(View<const double> x, View<const double> w_q, View<const double> w_k,
                   View<const double> w_v, View<double> out);

// ---- Attention of queries over keys and values ----

/// The largest head_dim and value_dim.
inline constexpr std::int64_t largest_dim = 1024;

/// What the heads of one call share.
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

/// Attention of every query, f32 arithmetic.
///   q     rows() × head_dim; row h·queries + i is query i of head h
///   kv    one entry per KV head
///   seen  per query i: it attends to keys 0 … seen[i] − 1 of its head; empty means all of them.
///         Causal attention of a query at position p has seen = p + 1.
///   out   rows() × value_dim
///   lse   rows() values: log Σ exp(logit), natural logarithm
/// A query that sees no key has out = 0 and lse = −inf. If NaN, infinity or an overflow of f32 in
/// q, k or v reaches a result, throws `input` naming the row; a value that is not finite may spoil
/// every query that shares its page, seen or not.
///
/// Up to 8 rows per KV head (decode) K and V are read once in their own dtype: bytes moved =
/// kv_heads·tokens·(d + d_v)·size_of(dtype), flops = 2·rows·tokens·(d + d_v). More rows (prefill)
/// run in tiles of 16 or 32 queries at the arithmetic limit. Allocates nothing once the workspace
/// has seen a call as large. Safe to call concurrently, each with its own Workspace. Same bits for
/// any number of threads; a row's bits do not depend on the other rows of a decode call.
/// `attention_rounding` bounds the distance from exact attention.
TAMIS_API void dense(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
                     std::span<const std::int64_t> seen, Workspace& workspace, View<float> out,
                     std::span<float> lse);

/// The same attention in f64 and plain loops, on the calling thread: the reference that `dense` is
/// compared with. Allocates 8·tokens·(d + d_v) bytes for a head at a time. Safe to call
/// concurrently.
TAMIS_API void reference(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
                         std::span<const std::int64_t> seen, View<double> out,
                         std::span<double> lse);

// ---- Softmax states: attention over parts of the keys that can be merged ----

/// For each row: m the largest logit, l = Σ exp(logit − m), o = Σ exp(logit − m)·v, not divided by
/// l. A row that has seen no key has m = −inf, l = 0, o = 0. Logits here are in units of log 2
/// (base-2 exponentials), which is how the engines keep them; `finish` converts.
struct SoftmaxStates {
  std::span<float> m;
  std::span<float> l;
  View<float> o;
};

/// `dense`, stopped before the division. Merge states of disjoint key sets, then `finish`.
TAMIS_API void dense_states(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
                            std::span<const std::int64_t> seen, Workspace& workspace,
                            const SoftmaxStates& states);
/// into ← the state of both key sets together. Commutative up to rounding; O(rows·d_v).
TAMIS_API void merge(const SoftmaxStates& into, const SoftmaxStates& from);
/// Divides: out = o / l and lse = log l + m·log 2; a row without keys gives out = 0, lse = −inf.
TAMIS_API void finish(const SoftmaxStates& states, View<float> out, std::span<float> lse);

// ---- Rounding, bounded ----

/// How far f32 attention of one query can be from exact attention, by any order of summation that
/// `dense` uses, on any target. Derived in docs/rounding.md.
struct Rounding {
  double tau = 0;    ///< total-variation distance between exact and used weights
  double error = 0;  ///< ‖out − exact‖₂, absolute
  double lse = 0;    ///< |lse − exact|
};

/// query_norm = ‖q‖₂, key_norm ≥ ‖k_j‖₂ and value_norm ≥ ‖v_j‖₂ for every key seen; `keys` how
/// many.
TAMIS_API Rounding attention_rounding(const Shape& shape, std::int64_t keys, double query_norm,
                                      double key_norm, double value_norm);

/// `attention_rounding` of every row of a call of `dense` with the same arguments. Reads Q, K and V
/// once, on the calling thread, and allocates 16 bytes per token. Safe to call concurrently.
TAMIS_API void dense_rounding(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
                              std::span<const std::int64_t> seen, std::span<Rounding> roundings);

}  // namespace tamis
