// A trace: queries, keys and values captured from a model. Format: docs/trace.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tamis/attention.h>
#include <tamis/export.h>
#include <tamis/lab/tensor.h>

namespace tamis::lab {

/// Rotary position embedding that has been applied to q and k of a trace.
struct Rotary {
  double theta = 0;          ///< base of the frequencies
  std::int64_t dims = 0;     ///< how many leading dimensions of a head are rotated
  bool interleaved = false;  ///< pairs are (0,1), (2,3), … rather than (i, i + dims/2)
};

/// What a trace holds of one layer, without the numbers.
struct TraceLayer {
  std::int64_t layer = 0;  ///< its number in the model, as in the tensor names
  Shape shape;             ///< heads, queries, dimensions, scale, dtype of k and v
  DType query_dtype = DType::f32;
  bool has_weights = false;           ///< w_q and w_k
  bool has_weight_norms = false;      ///< w_norm
  std::optional<double> input_bound;  ///< B: a bound on the entries of the layer's input X
};

/// The numbers of one layer, checked to be finite.
struct LayerData {
  std::vector<float> q;  ///< shape.rows() × head_dim, converted to f32
  Tensor k;              ///< [kv_heads, tokens, head_dim] in shape.dtype
  Tensor v;              ///< [kv_heads, tokens, value_dim] in shape.dtype
};

/// Projections of one layer, for R = B²‖W‖_F.
struct LayerWeights {
  Tensor w_q;  ///< [query_heads, hidden, head_dim]
  Tensor w_k;  ///< [kv_heads, hidden, head_dim]
};

/// A trace file, opened and checked: every field of docs/trace.md against its type and shape.
/// Reading a layer takes memory for that layer only. Safe to read from many threads.
class TAMIS_API Trace {
 public:
  explicit Trace(const std::string& path);
  /// The trace in a file that is already open.
  explicit Trace(SafetensorsFile file);

  [[nodiscard]] const std::string& path() const { return file_.path(); }
  [[nodiscard]] const Metadata& metadata() const { return file_.metadata(); }
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  [[nodiscard]] bool causal() const { return causal_; }
  /// Place of each query in the text, 0 … tokens − 1.
  [[nodiscard]] std::span<const std::int64_t> positions() const { return positions_; }
  /// Keys each query sees: position + 1 if causal, else all tokens.
  [[nodiscard]] std::span<const std::int64_t> seen() const { return seen_; }
  /// By ascending layer number.
  [[nodiscard]] std::span<const TraceLayer> layers() const { return layers_; }
  /// The layer of this number. Throws `usage`, naming the layers that there are, if there is none.
  [[nodiscard]] const TraceLayer& layer(std::int64_t number) const;
  /// The layers of these numbers, ascending; all layers if no number is given. Throws as `layer`.
  [[nodiscard]] std::vector<TraceLayer> layers(std::span<const std::int64_t> numbers) const;
  [[nodiscard]] const std::optional<Rotary>& rotary() const { return rotary_; }

  /// Throws `input` if q, k or v hold NaN or infinity, naming the tensor and where.
  [[nodiscard]] LayerData read(const TraceLayer& layer) const;
  [[nodiscard]] LayerWeights read_weights(const TraceLayer& layer) const;
  /// ‖W_Q W_Kᵀ‖_F·|scale| per query head. Throws `input` unless layer.has_weight_norms.
  [[nodiscard]] std::vector<double> read_weight_norms(const TraceLayer& layer) const;

 private:
  SafetensorsFile file_;
  std::int64_t tokens_ = 0;
  bool causal_ = true;
  std::vector<std::int64_t> positions_;
  std::vector<std::int64_t> seen_;
  std::vector<TraceLayer> layers_;
  std::optional<Rotary> rotary_;
};

}  // namespace tamis::lab
