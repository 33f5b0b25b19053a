// The factors q and k of a witness's logits, as each arithmetic forms them: given as they are, or
// the products x·w_q and x·w_k. Memory: 8 + 4 bytes for every element of q and k; where they are
// products 8 more, and x and the nonzeros of the weights.
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
  std::vector<std::size_t> start;  ///< of each column, into `row` and `weight`
  std::vector<std::size_t> row;
  std::vector<double> weight;
};

/// q or k: rows × dim numbers.
struct Factor {
  std::int64_t rows = 0;
  std::int64_t dim = 0;
  std::vector<double> f64;  ///< formed in f64
  std::vector<float>
      f32;  ///< rounded to f32 first, formed in f32; infinite or NaN beyond its range
  std::vector<double>
      norm;  ///< of each row of f64: at least ‖row‖, infinite where squares overflow
  std::vector<double>
      off;  ///< of each row: at least ‖exact row − row of f64‖, 0 where f64 is exact
  std::optional<Product> of;  ///< where the exact rows come from; none: f64 is exact
  std::vector<double> tail;   ///< of a product: what f64 lacks, to f64; empty if given
  std::vector<double> rest;   ///< of each row: at least ‖exact row − row of f64 − its tail‖

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

Factor given_factor(const Tensor& values);
/// rows·(nonzeros of w) multiply-adds in each arithmetic, and 20 times that for the tails of
/// inexact rows.
Factor product_factor(const Tensor& x, const Tensor& w, int threads);

/// L = q·kᵀ.
struct Form {
  Factor q;
  Factor k;

  [[nodiscard]] numbers::Dyadic exact(std::int64_t i, std::int64_t j) const;
  /// Contains `exact(i, j)`; a few units in the last place wide, but for massive cancellation.
  [[nodiscard]] numbers::Interval enclose(std::int64_t i, std::int64_t j) const;

 private:
  [[nodiscard]] numbers::Interval enclose_products(std::int64_t i, std::int64_t j) const;
};

}  // namespace tamis::lab::verification
