// The elements of tensors, whatever their type: converted to f64, or checked to be finite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <tamis/lab/tensor.h>

namespace tamis::lab::io {

/// Converts out.size() elements that start at `data`, which need not be aligned.
void convert_to_f64(DType dtype, const std::byte* data, std::span<double> out);

/// The element of an integer type that starts at `data`, in decimal, whatever a double could hold.
std::string integer_text(DType dtype, const std::byte* data);

/// Position, in row-major order, of the first element that is NaN or infinite. Reads the tensor
/// once.
std::optional<std::int64_t> first_not_finite(const Tensor& tensor);

[[nodiscard]] bool is_float(DType dtype);

/// Bytes of an array of that type and shape; nothing if a dimension is negative or the number of
/// bytes or elements does not fit 63 bits. A zero dimension makes it 0 whatever the others are.
std::optional<std::int64_t> bytes_of(DType dtype, std::span<const std::int64_t> shape);

}  // namespace tamis::lab::io
