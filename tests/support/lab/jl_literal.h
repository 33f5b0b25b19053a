// The paper's construction to the letter, as the reference that the fast draws are compared with:
// SVD of B, Y Haar by QR of a Gaussian matrix, X⁽¹⁾ and X⁽²⁾, the dense product, every condition of
// every row. On LAPACK in f64: 11·n³ multiply-adds once, then 3·n²·m + 2·n·m² a draw. Part of the
// tests and benchmarks, not of libtamis.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lab/realise/jl/target.h"

namespace tamis {

/// Fills with independent standard normals.
using NormalSource = std::function<void(std::span<double>)>;

class JlLiteral {
 public:
  explicit JlLiteral(const lab::realisation::JlTarget& target);

  /// Of one thread.
  struct Space {
    std::vector<double> y, x1, x2, tau, work, sign;
    std::vector<double> logits;  ///< n × n by rows, of the last draw
  };
  /// The least slack of (23), (24) over all rows of one draw of rank m; accepted if positive.
  double draw(std::int64_t m, const NormalSource& normals, Space& space) const;

 private:
  const lab::realisation::JlTarget& target_;
  std::vector<double> d_, v_;  // n × n by columns: B = D·Vᵀ
};

/// OpenBLAS uses so many threads while this lives, then as many as before.
class BlasThreads {
 public:
  explicit BlasThreads(int threads);
  ~BlasThreads();
  BlasThreads(const BlasThreads&) = delete;
  BlasThreads& operator=(const BlasThreads&) = delete;

 private:
  int before_;
};

}  // namespace tamis
