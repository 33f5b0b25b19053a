// The factors q and k of a witness's logits in f32, f64 and exact arithmetic. They are either given
// or the products x·w_q and x·w_k. Memory: 12 bytes for every element of q and k; products take 8
// bytes more per element, and keep x and the nonzeros of the weights as well.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <tamis/lab/witness.h>
#include "lab/numbers/exact.h"

namespace tamis::lab::verification {

/// x and the nonzeros of a weight matrix, column by column.
struct Product {
  std::int64_t hidden = 0;
  std::vector<double> x;
  std::vector<std::size_t> start;  ///< offset of each column in `row` and `weight`
  std::vector<std::size_t> row;
  std::vector<double> weight;
};

/// q or k: rows × dim numbers.
struct Factor {
  std::int64_t rows = 0;
  std::int64_t dim = 0;
  std::vector<double> f64;  ///< computed in f64
  std::vector<float> f32;   ///< computed in f32 from inputs rounded to f32; may be infinite or NaN
  std::vector<double> norm;  ///< per row: upper bound on ‖row of f64‖; infinite if squares overflow
  std::vector<double> off;  ///< per row: upper bound on ‖exact row − row of f64‖; 0 if f64 is exact
  std::optional<Product> of;  ///< defines the exact rows; empty if f64 is given, hence exact
  std::vector<double> tail;   ///< of a product: exact − f64, approximately; empty if given
  std::vector<double> rest;  ///< per row of a product: upper bound on ‖exact row − f64 − tail‖

  [[nodiscard]] std::span<const double> row(std::int64_t i) const {
    return std::span(f64).subspan(static_cast<std::size_t>(i * dim), static_cast<std::size_t>(dim));
  }
  [[nodiscard]] std::span<const float> row_f32(std::int64_t i) const {
    return std::span(f32).subspan(static_cast<std::size_t>(i * dim), static_cast<std::size_t>(dim));
  }
  [[nodiscard]] bool is_exact(std::int64_t i) const {
    return off[static_cast<std::size_t>(i)] == 0;
  }
  /// Row i without rounding.
  [[nodiscard]] std::vector<numbers::Dyadic> exact_row(std::int64_t i) const;
};

/// The factor whose rows are those of `values`.
Factor given_factor(const Tensor& values);
/// The product x·w. Costs rows·(nonzeros of w) multiply-adds in f32 and in f64, and 20 times that
/// for the tails of inexact rows.
Factor product_factor(const Tensor& x, const Tensor& w, int threads);

/// The factors of logits L = q·kᵀ.
struct Form {
  Factor q;
  Factor k;

  /// The logit L_ij without rounding.
  [[nodiscard]] numbers::Dyadic exact(std::int64_t i, std::int64_t j) const;
  /// An interval that contains exact(i, j). It is a few units in the last place wide, unless the
  /// sum cancels massively.
  [[nodiscard]] numbers::Interval enclose(std::int64_t i, std::int64_t j) const;

 private:
  [[nodiscard]] numbers::Interval enclose_products(std::int64_t i, std::int64_t j) const;
};

}  // namespace tamis::lab::verification
