// A row-major matrix whose memory somebody else owns, as C++20 has no mdspan.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

namespace tamis {

/// A matrix of `rows` × `cols` elements; row i starts at data + i·stride. A copy is a view of the
/// same memory.
template <class T>
struct View {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t stride = 0;

  View() = default;
  View(T* data_, std::int64_t rows_, std::int64_t cols_) : View(data_, rows_, cols_, cols_) {}
  View(T* data_, std::int64_t rows_, std::int64_t cols_, std::int64_t stride_)
      : data(data_), rows(rows_), cols(cols_), stride(stride_) {}

  T& operator()(std::int64_t i, std::int64_t j) const { return data[i * stride + j]; }
  [[nodiscard]] std::span<T> row(std::int64_t i) const {
    return {data + i * stride, static_cast<std::size_t>(cols)};
  }
  /// Rows first … first + count − 1, as a view.
  [[nodiscard]] View middle_rows(std::int64_t first, std::int64_t count) const {
    return {data + first * stride, count, cols, stride};
  }

  operator View<const T>() const  // NOLINT(google-explicit-constructor): adding const is safe
      requires(!std::is_const_v<T>) {
    return {data, rows, cols, stride};
  }
};

}  // namespace tamis
