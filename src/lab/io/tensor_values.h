// Functions on the elements of tensors of any type: conversion to f64 or to text, and checks that
// elements are finite.
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

/// The element of an integer type that starts at `data`, in decimal. It is exact even where a
/// double would not be.
std::string integer_text(DType dtype, const std::byte* data);

/// The row-major position of the first element that is NaN or infinite. Reads the tensor once.
std::optional<std::int64_t> first_not_finite(const Tensor& tensor);

[[nodiscard]] bool is_float(DType dtype);

/// The bytes of an array, or nothing if a dimension is negative or the number of bytes or elements
/// does not fit in 63 bits. If a dimension is zero the result is 0, whatever the others are.
std::optional<std::int64_t> bytes_of(DType dtype, std::span<const std::int64_t> shape);

}  // namespace tamis::lab::io
