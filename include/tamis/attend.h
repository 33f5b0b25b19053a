// Attention over a cache. It reads only as much of the keys and values as a budget asks for, and
// returns for every row bounds on the distance from exact attention (a certificate).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <tamis/budget.h>
#include <tamis/cache.h>
#include <tamis/dtype.h>
#include <tamis/export.h>
#include <tamis/heads.h>
#include <tamis/workspace.h>

namespace tamis {

/// The most query rows per KV head of one sequence (its queries times the query heads that share
/// the KV head) for which attention is sparse. A call with more rows is treated as prefill: every
/// block is decoded once for all rows.
inline constexpr std::int64_t most_sparse_rows = 64;
/// The number of rows that sparse attention works on at once. More rows take several passes.
inline constexpr std::int64_t pass_rows = 16;

/// The sequences of a call, the number of queries of each, and how many tokens each query sees.
struct Batch {
  std::span<const Sequence> sequences;
  std::span<const std::int64_t> queries;  ///< one per sequence, ≥ 0
  /// One number per query, sequence after sequence: the query sees tokens 0 … seen − 1. If empty,
  /// the last query of a sequence sees all of its tokens, the query before it one token less, and
  /// so on.
  std::span<const std::int64_t> seen;
};

/// A batch, checked and divided into work items. A plan is made once per decoding step and used for
/// the caches of all layers, which must have the same numbers of heads and hold the same sequences
/// with the same lengths.
class TAMIS_API Plan {
 public:
  /// Throws `usage` if a sequence is missing, if a query sees more tokens than there are, or if the
  /// lists of the batch differ in length. Looks at the lengths of the sequences and not at their
  /// contents, sorts them by length, and takes time and memory in proportion to sequences, queries
  /// and items. Safe to call concurrently, as long as no call changes a sequence of the batch
  /// meanwhile. A plan does not change once it is made, so many threads may use it at once.
  Plan(const Cache& cache, const Batch& batch);

  /// One sequence of the batch.
  struct Part {
    Sequence sequence;
    std::int64_t tokens;       ///< the sequence's length when the plan was made
    std::int64_t first_query;  ///< index of its first query among the queries of all sequences
    std::int64_t queries;
  };
  /// Rows first_row … first_row + rows − 1 of one KV head of one sequence. Row i is query i / group
  /// of the sequence and query head i % group of the `group` heads that share the KV head.
  struct Item {
    std::int64_t part;  ///< index into parts()
    std::int64_t head;  ///< KV head
    std::int64_t first_row;
    std::int64_t rows;
  };
  [[nodiscard]] std::span<const Part> parts() const { return parts_; }
  /// The items in the order in which work on them starts: long sequences first.
  [[nodiscard]] std::span<const Item> items() const { return items_; }
  [[nodiscard]] std::span<const std::int64_t> seen() const { return seen_; }
  [[nodiscard]] std::int64_t queries() const { return static_cast<std::int64_t>(seen_.size()); }
  [[nodiscard]] std::int64_t query_heads() const { return query_heads_; }
  [[nodiscard]] std::int64_t kv_heads() const { return kv_heads_; }

 private:
  std::int64_t query_heads_, kv_heads_;  ///< of the cache that the plan was made for
  std::vector<Part> parts_;
  std::vector<Item> items_;
  std::vector<std::int64_t> seen_;
};

/// Rows of queries in the caller's memory. Strides are in elements: for query i (counted over all
/// sequences), channel c of head h is element i·query_stride + h·head_stride + c.
struct QueryRows {
  const void* data = nullptr;
  DType dtype = DType::f32;  ///< f32, f16 or bf16
  std::int64_t query_stride = 0;
  std::int64_t head_stride = 0;
};
/// Rows of outputs, laid out like QueryRows.
struct OutputRows {
  void* data = nullptr;
  DType dtype = DType::f32;  ///< rounded to nearest; a certificate's `error` includes the rounding
  std::int64_t query_stride = 0;
  std::int64_t head_stride = 0;
};

/// Whether a row met its budget.
enum class Reached : std::uint8_t {
  /// The budget was met.
  met = 0,
  /// A mass budget was not proved: all stored bits were read, and they prove only `tau`.
  stored_bits = 1,
  /// A budget of bytes was exceeded by what is read in any case: the first look (a plane or two of
  /// every key) and raw tokens, or everything where attention is dense.
  look_alone = 2,
  /// The query or its logits are not finite. The output is NaN and the bounds are infinite.
  not_finite = 3,
};
/// Returns a short description of the value (a static string).
[[nodiscard]] TAMIS_API const char* words_for(Reached reached);

/// Whether attention was dense, that is, read all planes of all keys and values, and why.
enum class Dense : std::uint8_t {
  no = 0,              ///< attention was sparse
  short_sequence = 1,  ///< the queries see fewer tokens than dense_below, or only raw tokens
  prefill = 2,         ///< more than most_sparse_rows rows per KV head
  wide = 3,            ///< the bounds of a sparse reading would be too wide to be useful
};
/// Returns a short description of the value (a static string).
[[nodiscard]] TAMIS_API const char* words_for(Dense dense);

/// How reliable the bounds of a certificate are.
enum class Grade : std::uint8_t {
  proved = 0,  ///< deterministic bounds that include rounding, derived in docs/certificates.md
};

/// What is proved about the result of one query of one head, and how much was read for it. Rows
/// that share a KV head in one pass share what is read, so each of their certificates holds the
/// same counts, in which everything that was read is counted once.
struct Certificate {
  /// Upper bound on the total-variation distance between the weights of exact attention and the
  /// weights used.
  double tau = 0;
  double error = 0;      ///< upper bound on ‖out − exact‖₂
  double lse_error = 0;  ///< upper bound on |lse − exact|
  Reached reached = Reached::met;
  Dense dense = Dense::no;
  Grade grade = Grade::proved;
  std::int64_t raw_keys = 0;  ///< keys read as they were appended
  /// Coded keys by the deepest level read (level l uses planes 0 … l). Together with raw_keys these
  /// are all keys seen.
  std::int64_t keys[4] = {};
  std::int64_t raw_values = 0;  ///< values read as they were appended
  /// Values that were not read: the mean of their block was used in their place or, where the
  /// budget drops their keys, nothing.
  std::int64_t centre_values = 0;
  std::int64_t values[4] = {};   ///< coded values by the deepest level read
  std::int64_t bytes = 0;        ///< bytes of everything read, headers included
  std::int64_t dense_bytes = 0;  ///< bytes of the keys and values seen, at 16 bits per number
};

/// Whether to save bytes or time where there is a choice.
enum class Prefer : std::uint8_t {
  /// The first look reads one plane of every key.
  bytes = 0,
  /// For mass budgets the first look reads two planes of every key. This reads more bytes, but
  /// fewer keys have to be read again later.
  time = 1,
};

struct AttendOptions {
  Prefer prefer = Prefer::bytes;
  /// Attention is dense for a pass (pass_rows rows or fewer of one KV head) in which every query
  /// sees fewer tokens than this. ≥ 0.
  std::int64_t dense_below = 0;
  /// The number of planes that the first look reads of every key: 1 or 2, or 0 to let `prefer`
  /// decide. Budgets of kind topk, power and window always use 1.
  int look = 0;
  /// With a mass budget EPS, values are read such that they are expected to add at most
  /// value_share·EPS times their spread to the error. The spread is the root mean square distance
  /// of values from the mean of their block, averaged over blocks.
  double value_share = 0.4;
};

/// Where attend() writes its results. Element i·query_heads + h of `lse` and of `certificates` is
/// for query i and head h.
struct Results {
  OutputRows out;
  std::span<float> lse;  ///< log Σ exp(logit), natural logarithm; −inf for a row without keys
  std::span<Certificate> certificates;  ///< one per row, or empty if none are wanted
};

/// Computes attention of every query of `plan` over its sequence and reads only what `budgets` ask
/// for. `budgets` holds one budget for all query heads, or one for each; heads that share a KV head
/// need budgets of the same kind. Throws `usage` if an argument is out of range or does not fit the
/// plan or the cache.
///
/// Threads may call this at once on one Cache, each with its own Workspace, as long as no call
/// changes a sequence of the plan meanwhile. Allocates nothing once the workspace has been used for
/// a call as large as this one. The result has the same bits for any number of threads, and that of
/// a sequence does not depend on the rest of the batch.
TAMIS_API void attend(const Cache& cache, const Plan& plan, const QueryRows& queries,
                      std::span<const Budget> budgets, const AttendOptions& options,
                      Workspace& workspace, const Results& results);

}  // namespace tamis
