#include "lab/realise/seal.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "lab/realise/least_queries.h"

namespace tamis::lab::realisation {
namespace {

/// Whether all values are finite in this type, as those of a witness must be.
bool fits(const std::vector<double>& values, DType dtype) {
  for (const double value : values)
    if (!std::isfinite(dtype == DType::f32 ? static_cast<double>(static_cast<float>(value))
                                           : value))
      return false;
  return true;
}

std::optional<Sealed> seal_as(const Pattern& pattern, const Conditions& conditions,
                              const Candidate& candidate, DType dtype, int threads,
                              const ProgressCallback& progress) {
  if (!fits(candidate.q, dtype) || !fits(candidate.k, dtype)) return std::nullopt;
  Witness witness;
  witness.q = tensor_of("q", candidate.rows, candidate.dim, candidate.q, dtype);
  witness.k = tensor_of("k", candidate.cols, candidate.dim, candidate.k, dtype);
  if (const std::optional<Inputs>& inputs = candidate.inputs) {
    witness.x = tensor_of("x", candidate.rows, inputs->hidden, inputs->x, dtype);
    witness.w_q = tensor_of("w_q", inputs->hidden, inputs->columns, inputs->w_q, dtype);
    witness.w_k = tensor_of("w_k", inputs->hidden, inputs->columns, inputs->w_k, dtype);
  }
  witness.made_by = candidate.made_by;
  return seal_witness(pattern, std::move(witness), conditions, threads, progress);
}

/// The keys as the type stores them; queries are then made for these.
std::vector<double> rounded(const std::vector<double>& values, DType dtype) {
  std::vector<double> result = values;
  if (dtype == DType::f32)
    for (double& value : result) value = static_cast<double>(static_cast<float>(value));
  return result;
}

}  // namespace

Tensor tensor_of(const char* name, std::int64_t rows, std::int64_t cols,
                 const std::vector<double>& values, DType dtype) {
  Tensor tensor({name, dtype, {rows, cols}});
  if (dtype == DType::f64) {
    std::memcpy(tensor.bytes().data(), values.data(), tensor.bytes().size());
    return tensor;
  }
  auto* out = reinterpret_cast<float*>(tensor.bytes().data());
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = static_cast<float>(values[i]);
  return tensor;
}

std::optional<Sealed> seal_witness(const Pattern& pattern, Witness witness,
                                   const Conditions& conditions, int threads,
                                   const ProgressCallback& progress) {
  witness.made_for = conditions;
  const Verification verification = verify(pattern, witness, conditions, threads, progress);
  if (!verification.holds()) return std::nullopt;
  return Sealed(std::move(witness), verification);
}

std::optional<Sealed> seal(const Pattern& pattern, const Conditions& conditions,
                           const Candidate& candidate, int threads,
                           const ProgressCallback& progress) {
  auto sealed = seal_as(pattern, conditions, candidate, DType::f32, threads, progress);
  return sealed ? std::move(sealed)
                : seal_as(pattern, conditions, candidate, DType::f64, threads, progress);
}

std::optional<Sealed> seal_shortest(const Pattern& pattern, const Conditions& conditions,
                                    const Candidate& candidate, int threads,
                                    const ProgressCallback& progress) {
  // Rounding is rarely as bad as its bound: where the full bound leaves no room, a fourth of it may
  // do.
  for (const auto& [dtype, unit] :
       {std::pair(DType::f32, 0x1p-24), std::pair(DType::f32, 0x1p-26),
        std::pair(DType::f64, 0x1p-53), std::pair(DType::f64, 0x1p-55)}) {
    if (!fits(candidate.k, dtype)) continue;
    Candidate shortest{.rows = candidate.rows,
                       .cols = candidate.cols,
                       .dim = candidate.dim,
                       .q = candidate.q,
                       .k = rounded(candidate.k, dtype),
                       .made_by = candidate.made_by};
    LeastQueries least = least_queries(pattern, conditions, shortest, unit, threads, progress);
    if (least.impossible >= 0) continue;
    shortest.q = std::move(least.q);
    if (auto sealed = seal_as(pattern, conditions, shortest, dtype, threads, progress))
      return sealed;
  }
  return candidate.q.empty() ? std::nullopt
                             : seal(pattern, conditions, candidate, threads, progress);
}

}  // namespace tamis::lab::realisation
