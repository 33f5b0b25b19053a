// The paper's construction, implemented literally as the reference for the fast draws: the SVD of
// B, a Haar matrix Y from the QR of a Gaussian matrix, X⁽¹⁾ and X⁽²⁾, their dense product, and
// every condition of every row. Uses LAPACK in f64. Costs 11·n³ multiply-adds once, then 3·n²·m +
// 2·n·m² per draw. Part of the tests and benchmarks, not of the library.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lab/realise/jl/target.h"

namespace tamis {

/// Fills a span with independent standard normals.
using NormalSource = std::function<void(std::span<double>)>;

class JlLiteral {
 public:
  explicit JlLiteral(const lab::realisation::JlTarget& target);

  /// Scratch memory of one thread.
  struct Space {
    std::vector<double> y, x1, x2, tau, work, sign;
    std::vector<double> logits;  ///< n × n, row-major, of the last draw
  };
  /// Makes one draw of rank m and returns the least slack of (23) and (24) over all rows. The draw
  /// is accepted if this is positive.
  double draw(std::int64_t m, const NormalSource& normals, Space& space) const;

 private:
  const lab::realisation::JlTarget& target_;
  std::vector<double> d_, v_;  // n × n, column-major: B = D·Vᵀ
};

/// Makes OpenBLAS use this many threads while the object lives; then restores the number before.
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
