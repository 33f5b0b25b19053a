// Attention over a cache in planes: reads what a budget asks for and certifies what was left out.
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

/// Query rows per KV head (queries times the query heads that share it) of one sequence up to which
/// attention is sparse. More are prefill: every block is decoded once for all rows.
inline constexpr std::int64_t most_sparse_rows = 64;
/// Rows that are worked on at once; more sparse rows take several passes.
inline constexpr std::int64_t pass_rows = 16;

/// The sequences that a call is about, with how many queries each, and what each query sees.
struct Batch {
  std::span<const Sequence> sequences;
  std::span<const std::int64_t> queries;  ///< one per sequence, ≥ 0
  /// One per query, sequence after sequence: it sees tokens 0 … seen − 1. Empty: the last query of
  /// a sequence sees all of its tokens, the one before it one less, and so on.
  std::span<const std::int64_t> seen;
};

/// A batch, checked and cut into pieces of work. Made once a step, used for the caches of all
/// layers, which must have as many heads and hold the same sequences at the same lengths.
class TAMIS_API Plan {
 public:
  /// Throws `usage` if a sequence is missing, or a query sees more tokens than there are.
  Plan(const Cache& cache, const Batch& batch);

  struct Part {
    Sequence sequence;
    std::int64_t tokens;       ///< of the sequence when planned
    std::int64_t first_query;  ///< among the queries of all sequences
    std::int64_t queries;
  };
  /// Some query rows of one KV head of one sequence: rows that are query i / group of its sequence
  /// and head i % group of those that share the KV head, for i = first_row … first_row + rows − 1.
  struct Item {
    std::int64_t part;
    std::int64_t head;  ///< KV head
    std::int64_t first_row;
    std::int64_t rows;
  };
  [[nodiscard]] std::span<const Part> parts() const { return parts_; }
  /// In the order in which they are begun: long sequences first.
  [[nodiscard]] std::span<const Item> items() const { return items_; }
  [[nodiscard]] std::span<const std::int64_t> seen() const { return seen_; }
  [[nodiscard]] std::int64_t queries() const { return static_cast<std::int64_t>(seen_.size()); }
  [[nodiscard]] std::int64_t query_heads() const { return query_heads_; }
  [[nodiscard]] std::int64_t kv_heads() const { return kv_heads_; }

 private:
  std::int64_t query_heads_, kv_heads_;  ///< of the cache that it was made for
  std::vector<Part> parts_;
  std::vector<Item> items_;
  std::vector<std::int64_t> seen_;
};

/// Rows of queries or outputs, strides in elements: query i of all sequences' queries, head h,
/// channel c is element i·query_stride + h·head_stride + c.
struct QueryRows {
  const void* data = nullptr;
  DType dtype = DType::f32;  ///< f32, f16 or bf16
  std::int64_t query_stride = 0;
  std::int64_t head_stride = 0;
};
struct OutputRows {
  void* data = nullptr;
  DType dtype = DType::f32;  ///< rounded to nearest; `error` of a certificate includes that
  std::int64_t query_stride = 0;
  std::int64_t head_stride = 0;
};

/// What a row's result is.
enum class Reached : std::uint8_t {
  met = 0,          ///< the budget
  stored_bits = 1,  ///< a mass budget was not proved: all stored bits were read, and prove `tau`
  look_alone = 2,   ///< a budget of bytes was exceeded by what is read anyway: the first look, raw
                   ///< tokens, or everything where attention is dense
  not_finite =
      3,  ///< the query, or its logits, are not finite: output NaN, certificate of infinities
};
[[nodiscard]] TAMIS_API const char* words_for(Reached reached);

/// Why everything was read.
enum class Dense : std::uint8_t {
  no = 0,
  short_sequence = 1,  ///< fewer tokens than dense_below, or all of them raw
  prefill = 2,         ///< more than most_sparse_rows rows per KV head
  wide = 3,            ///< bounds so wide that sparse reading could not say anything
};
[[nodiscard]] TAMIS_API const char* words_for(Dense dense);

/// How sure the bounds of a certificate are.
enum class Grade : std::uint8_t {
  proved = 0,  ///< they hold: deterministic, rounding included, derived in docs/certificates.md
};

/// For one query of one head. What was read is counted once per KV head and pass: rows that share a
/// KV head share the reading, and each of their certificates holds the same counts.
struct Certificate {
  double tau =
      0;  ///< total-variation distance between exact attention and the weights used, at most
  double error = 0;      ///< ‖out − exact‖₂, at most
  double lse_error = 0;  ///< |lse − exact|, at most
  Reached reached = Reached::met;
  Dense dense = Dense::no;
  Grade grade = Grade::proved;
  std::int64_t raw_keys = 0;  ///< read as appended
  std::int64_t keys[4] =
      {};  ///< coded keys by the deepest level read; with raw_keys, the keys seen
  std::int64_t raw_values = 0;
  std::int64_t centre_values =
      0;  ///< for which the mean of their block stands, or nothing where keys are dropped
  std::int64_t values[4] = {};   ///< coded values by the deepest level read
  std::int64_t bytes = 0;        ///< of everything read, headers included
  std::int64_t dense_bytes = 0;  ///< of the keys and values seen, at 16 bits a number
};

/// What is saved where there is a choice.
enum class Prefer : std::uint8_t {
  bytes = 0,  ///< the first look reads one plane of every key
  time = 1,   ///< it reads two at once, but for budgets of bytes: more bytes, fewer keys to come
              ///< back to
};

struct AttendOptions {
  Prefer prefer = Prefer::bytes;
  /// Queries that see fewer tokens are computed from all planes. ≥ 0.
  std::int64_t dense_below = 0;
  /// Planes that the first look reads of all keys: 1, 2, or 0 for what `prefer` says.
  int look = 0;
  /// Share of a mass budget that reading values may add to the error, relative to the values'
  /// spread.
  double value_share = 0.4;
};

/// Where results go. Row (query i, head h) is element i·query_heads + h of lse and certificates.
struct Results {
  OutputRows out;
  std::span<float> lse;  ///< log Σ exp(logit), natural logarithm; −inf for a row without keys
  std::span<Certificate> certificates;  ///< one per row, or none
};

/// Attention of every query of `plan` over its sequence, reading only what `budgets` need: one for
/// all query heads, or one for each; heads that share a KV head need budgets of one kind.
///
/// Safe to call from many threads on one Cache, each with its own Workspace; excludes only changes
/// to the sequences of its plan. Allocates nothing once the workspace has seen a call as large.
/// Same bits for any number of threads; a sequence's bits do not depend on the rest of the batch.
TAMIS_API void attend(const Cache& cache, const Plan& plan, const QueryRows& queries,
                      std::span<const Budget> budgets, const AttendOptions& options,
                      Workspace& workspace, const Results& results);

}  // namespace tamis
