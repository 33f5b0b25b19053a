#include "lab/decide/paper_form.h"

#include <algorithm>
#include <cstring>

#include "core/fail.h"

namespace tamis::lab::decision {
namespace {

template <class T>
T* values_of(Tensor& tensor) {
  return reinterpret_cast<T*>(tensor.bytes().data());
}

template <class T>
void fill(Witness& w, std::int64_t n, std::int64_t dim, std::int64_t hidden) {
  T* x = values_of<T>(w.x);
  T* w_q = values_of<T>(w.w_q);
  T* w_k = values_of<T>(w.w_k);
  const T* q = values_of<T>(w.q);
  const T* k = values_of<T>(w.k);
  if (hidden >= 2 * dim) {
    for (std::int64_t i = 0; i < n; ++i) {
      std::copy_n(q + i * dim, dim, x + i * hidden);
      std::copy_n(k + i * dim, dim, x + i * hidden + dim);
    }
    for (std::int64_t c = 0; c < dim; ++c) w_q[c * dim + c] = w_k[(dim + c) * dim + c] = 1;
  } else {
    for (std::int64_t i = 0; i < n; ++i) x[i * hidden + i] = 1;
    std::copy_n(q, n * dim, w_q);
    std::copy_n(k, n * dim, w_k);
  }
}

}  // namespace

Witness with_paper_form(Witness witness, std::int64_t hidden) {
  const std::int64_t n = witness.q.info().shape[0];
  const std::int64_t dim = witness.q.info().shape[1];
  if (hidden < std::min(2 * dim, n))
    core::fail(
        Code::usage,
        "hidden size {} was asked of {} queries and keys of {} columns; it must be at least {}",
        hidden, n, dim, std::min(2 * dim, n));
  const DType dtype = witness.q.info().dtype;
  const auto zeros = [&](const char* name, std::int64_t rows, std::int64_t cols) {
    Tensor tensor({name, dtype, {rows, cols}});
    std::memset(tensor.bytes().data(), 0, tensor.bytes().size());
    return tensor;
  };
  witness.x = zeros("x", n, hidden);
  witness.w_q = zeros("w_q", hidden, dim);
  witness.w_k = zeros("w_k", hidden, dim);
  if (dtype == DType::f32) {
    fill<float>(witness, n, dim, hidden);
  } else {
    fill<double>(witness, n, dim, hidden);
  }
  return witness;
}

}  // namespace tamis::lab::decision
