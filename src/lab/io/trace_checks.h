// The checks of docs/trace.md on an open safetensors file. Each checks or returns a field and
// throws `input` with a sentence that names the entry or tensor at fault and says what it must be.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tamis/lab/trace.h>
#include "core/fail.h"

namespace tamis::lab::io {

/// The name of a tensor in the file, such as "layers.3.k".
std::string tensor_name(std::int64_t layer, std::string_view field);

class TraceChecks {
 public:
  /// Keeps a reference to the file.
  explicit TraceChecks(const SafetensorsFile& file) : file_(file) {}

  // ---- Metadata ----

  void check_format() const;
  [[nodiscard]] bool causal() const;
  [[nodiscard]] float scale() const;
  /// `tokens` is the number of tokens of the keys.
  void check_tokens(std::int64_t tokens) const;
  /// `head_dim` is the smallest among the layers.
  [[nodiscard]] std::optional<Rotary> rotary(std::int64_t head_dim) const;

  // ---- Tensors ----

  /// The layers that occur in tensor names, each with the fields that it has.
  [[nodiscard]] std::map<std::int64_t, std::vector<std::string_view>> layer_fields() const;
  /// Checks types and shapes of the tensors of one layer. Reads the input bound if there is one.
  [[nodiscard]] TraceLayer layer(std::int64_t number, const std::vector<std::string_view>& given,
                                 float scale) const;
  [[nodiscard]] std::vector<std::int64_t> positions(std::int64_t tokens) const;

  // ---- Elements ----

  [[nodiscard]] Tensor read_finite(const std::string& name) const;
  /// Reads a vector whose elements must be finite and positive, or zero if `zero_allowed`.
  [[nodiscard]] std::vector<double> read_bounds(const std::string& name, bool zero_allowed) const;

  template <class... Args>
  [[noreturn]] void fail_file(fmt::format_string<Args...> sentence, Args&&... args) const {
    core::fail(Code::input, "{}: {}", file_.path(),
               fmt::format(sentence, std::forward<Args>(args)...));
  }

 private:
  [[nodiscard]] const std::string* find_metadata(const std::string& key) const;
  [[nodiscard]] const std::string& metadata(const std::string& key, std::string_view right) const;
  [[noreturn]] void fail_metadata(std::string_view key, std::string_view value,
                                  std::string_view right) const;

  [[nodiscard]] const TensorInfo& tensor(const std::string& name, std::size_t rank,
                                         std::string_view form) const;
  void expect_shape(const TensorInfo& info, const std::vector<std::int64_t>& shape,
                    std::string_view form) const;
  void expect_float(const TensorInfo& info, bool f64_too) const;
  void check_optional(TraceLayer& layer, const std::vector<std::string_view>& given) const;

  const SafetensorsFile& file_;
};

}  // namespace tamis::lab::io
