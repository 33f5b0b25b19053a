// Attention of one layer of a trace: computed, certified and, under --check, measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <tamis/certificate.h>
#include <tamis/trace.h>

namespace tamis::cli {

/// Row h·queries + i is query i of head h, in every array.
struct LayerResult {
  TraceLayer layer;
  std::vector<float> out;  ///< rows × value_dim
  std::vector<float> lse;
  std::vector<Certificate> certificates;
  double seconds = 0;  ///< in attention alone
  // With a budget only.
  std::size_t index_bytes = 0;
  double index_seconds = 0;

  // Under --check only: distances from the f64 reference.
  std::vector<double> true_tau;  ///< with a budget only
  std::vector<double> true_error;
  std::vector<double> true_lse_error;
  std::vector<double> exact_norm;  ///< ‖exact output‖₂
  std::int64_t violations = 0;
};

/// Stages of the progress, in the order in which a layer goes through them. Units: a token of a KV head
/// for the index, a query-key pair for the others.
enum Stage : std::size_t { index_stage, attention_stage, weights_stage, check_stage };

/// Query-key pairs of a layer.
inline double pairs_of(const Trace& trace, const TraceLayer& layer) {
  return static_cast<double>(layer.shape.query_heads) *
         std::accumulate(trace.seen().begin(), trace.seen().end(), 0.0);
}

/// Bytes of the key and the value of one token of one KV head.
inline std::int64_t token_bytes(const Shape& shape) {
  return (shape.head_dim + shape.value_dim) * size_of(shape.dtype);
}

}  // namespace tamis::cli
