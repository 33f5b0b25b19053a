// The attention of one layer of a trace with its certificates and, under --check, its measured
// errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <tamis/attend.h>
#include <tamis/lab/trace.h>

namespace tamis::cli {

using tamis::Certificate;
using tamis::Reached;

/// In every array, row h·queries + i belongs to query i of head h.
struct LayerResult {
  lab::TraceLayer layer;
  std::vector<float> out;  ///< rows × value_dim
  std::vector<float> lse;
  std::vector<Certificate> certificates;
  double seconds = 0;  ///< spent in attention alone
  // The next four are set only with a budget.
  int bits = 0;                 ///< bits per coded number
  std::int64_t cached = 0;      ///< tokens in the cache at the end
  std::size_t cache_bytes = 0;  ///< bytes that these tokens take
  double append_seconds = 0;

  // These are set only under --check. Distances are from the f64 reference.
  std::vector<double> true_error;
  std::vector<double> true_lse_error;
  std::vector<double> exact_norm;  ///< ‖exact output‖₂
  std::int64_t violations = 0;

  [[nodiscard]] bool sparse() const { return bits > 0; }
  /// Returns the number of keys that were read as appended or with all their stored bits.
  [[nodiscard]] std::int64_t whole_keys(const Certificate& certificate) const {
    return certificate.raw_keys + (sparse() ? certificate.keys[bits / 4 - 1] : 0);
  }
};

/// Stages of the progress, in the order in which a layer goes through them. The unit of work is a
/// token of a KV head for appending and a query-key pair for the others.
enum Stage : std::size_t { append_stage, attention_stage, check_stage };

/// Returns the number of query-key pairs of a layer.
inline double pairs_of(const lab::Trace& trace, const lab::TraceLayer& layer) {
  return static_cast<double>(layer.shape.query_heads) *
         std::accumulate(trace.seen().begin(), trace.seen().end(), 0.0);
}

/// Returns the bytes of one token's key and value of one KV head, in the trace's dtype.
inline std::int64_t token_bytes(const Shape& shape) {
  return (shape.head_dim + shape.value_dim) * size_of(shape.dtype);
}

}  // namespace tamis::cli
