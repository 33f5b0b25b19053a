// A trace is a file of queries, keys and values that were captured from a model while it read a
// text. docs/trace.md describes the format.
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
  bool interleaved = false;  ///< rotated pairs are (0,1), (2,3), … rather than (i, i + dims/2)
};

/// The description of one layer of a trace, without the elements of its tensors.
struct TraceLayer {
  std::int64_t layer = 0;  ///< its number in the model, as in the tensor names
  Shape shape;             ///< heads, queries, dimensions, scale, dtype of k and v
  DType query_dtype = DType::f32;
  bool has_weights = false;           ///< the trace holds w_q and w_k
  bool has_weight_norms = false;      ///< the trace holds w_norm
  std::optional<double> input_bound;  ///< B ≥ |x_ij| for every entry of the layer's input X
};

/// The queries, keys and values of one layer. All elements are finite.
struct LayerData {
  std::vector<float> q;  ///< shape.rows() × head_dim, converted to f32
  Tensor k;              ///< [kv_heads, tokens, head_dim] in shape.dtype
  Tensor v;              ///< [kv_heads, tokens, value_dim] in shape.dtype

  /// Page tables over k and v, which must outlive them. Throws `usage` if k and v are empty.
  [[nodiscard]] TAMIS_API PageTables pages() const;
};

/// The projections of one layer. With the input bound B they give R = B²‖W‖_F, where W is
/// scale·W_Q·W_Kᵀ of a query head.
struct LayerWeights {
  Tensor w_q;  ///< [query_heads, hidden, head_dim]
  Tensor w_k;  ///< [kv_heads, hidden, head_dim]
};

/// An open trace file. Opening it checks every field of docs/trace.md against its type and shape.
/// Reading a layer takes memory for that layer only. Safe to use from many threads.
class TAMIS_API Trace {
 public:
  explicit Trace(const std::string& path);
  /// The trace in a file that is already open.
  explicit Trace(SafetensorsFile file);

  [[nodiscard]] const std::string& path() const { return file_.path(); }
  [[nodiscard]] const Metadata& metadata() const { return file_.metadata(); }
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  [[nodiscard]] bool causal() const { return causal_; }
  /// The position of each query in the text, from 0 to tokens() − 1.
  [[nodiscard]] std::span<const std::int64_t> positions() const { return positions_; }
  /// The number of keys that each query sees: its position + 1 if causal, else all tokens.
  [[nodiscard]] std::span<const std::int64_t> seen() const { return seen_; }
  /// All layers, by ascending layer number.
  [[nodiscard]] std::span<const TraceLayer> layers() const { return layers_; }
  /// The layer of this number. Throws `usage`, naming the layers that there are, if there is none.
  [[nodiscard]] const TraceLayer& layer(std::int64_t number) const;
  /// The layers of these numbers, ascending; all layers if no number is given. Throws as `layer`.
  [[nodiscard]] std::vector<TraceLayer> layers(std::span<const std::int64_t> numbers) const;
  [[nodiscard]] const std::optional<Rotary>& rotary() const { return rotary_; }

  /// Reads one layer. Throws `input` if q, k or v holds NaN or infinity; the message names the
  /// tensor and the index.
  [[nodiscard]] LayerData read(const TraceLayer& layer) const;
  /// Throws `input` unless layer.has_weights, or if an element is not finite.
  [[nodiscard]] LayerWeights read_weights(const TraceLayer& layer) const;
  /// ‖W_Q W_Kᵀ‖_F·|scale| of each query head. Throws `input` unless layer.has_weight_norms.
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
