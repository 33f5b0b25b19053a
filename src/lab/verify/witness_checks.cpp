#include "lab/verify/witness_checks.h"

#include <array>

#include "core/fail.h"
#include "core/text.h"
#include "lab/io/tensor_values.h"

namespace tamis::lab::verification {
namespace {

struct Check {
  const std::string& file;

  void matrix(const char* name, const Tensor& tensor, const char* form) const {
    const auto& shape = tensor.info().shape;
    const DType dtype = tensor.info().dtype;
    if (tensor.bytes().empty())
      core::fail(
          Code::input,
          "{}: tensor '{}' is missing or empty; it must be {}, f32 or f64, none of them zero", file,
          name, form);
    if (dtype != DType::f32 && dtype != DType::f64)
      core::fail(Code::input, "{}: tensor '{}' has dtype {}; it must be f32 or f64", file, name,
                 tamis::name_of(dtype));
    if (shape.size() != 2)
      core::fail(Code::input, "{}: tensor '{}' has shape {}; it must be {}", file, name,
                 core::shape_text(shape), form);
    if (const auto at = io::first_not_finite(tensor))
      core::fail(Code::input, "{}: tensor '{}' holds {} at [{}, {}]; every element must be finite",
                 file, name, tensor.to_f64()[static_cast<std::size_t>(*at)], *at / shape[1],
                 *at % shape[1]);
  }

  /// Dimension `i` of a must be dimension `j` of b.
  void fit(const char* a_name, const Tensor& a, std::size_t i, const char* b_name, const Tensor& b,
           std::size_t j) const {
    constexpr std::array<const char*, 2> what{"rows", "columns"};
    const std::int64_t x = a.info().shape[i];
    const std::int64_t y = b.info().shape[j];
    if (x != y)
      core::fail(Code::input, "{}: tensor '{}' has {} {} and '{}' has {} {}; they must be as many",
                 file, a_name, x, what[i], b_name, y, what[j]);
  }
};

}  // namespace

void check_witness(const std::string& name, const Witness& w) {
  const Check check{name};
  const bool queries = !w.q.bytes().empty() || !w.k.bytes().empty();
  const bool inputs = !w.x.bytes().empty() || !w.w_q.bytes().empty() || !w.w_k.bytes().empty();
  if (!queries && !inputs)
    core::fail(Code::input, "{}: holds no witness; it needs tensors q and k, or x, w_q and w_k",
               name);
  if (queries) {
    check.matrix("q", w.q, "[rows of the pattern, m]");
    check.matrix("k", w.k, "[columns of the pattern, m]");
    check.fit("q", w.q, 1, "k", w.k, 1);
  }
  if (inputs) {
    check.matrix("x", w.x, "[n, d_hid]");
    check.matrix("w_q", w.w_q, "[d_hid, d]");
    check.matrix("w_k", w.w_k, "[d_hid, d]");
    check.fit("x", w.x, 1, "w_q", w.w_q, 0);
    check.fit("x", w.x, 1, "w_k", w.w_k, 0);
    check.fit("w_q", w.w_q, 1, "w_k", w.w_k, 1);
  }
  if (queries && inputs) {
    check.fit("q", w.q, 0, "x", w.x, 0);
    check.fit("k", w.k, 0, "x", w.x, 0);
  }
}

}  // namespace tamis::lab::verification
