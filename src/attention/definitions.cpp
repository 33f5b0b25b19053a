// USAM, SAM, SA and their causal forms, as the paper writes them, in f64 and plain loops.
#include <cmath>
#include <limits>
#include <vector>

#include <tamis/attention.h>

#include "attention/check.h"
#include "core/fail.h"

namespace tamis {
namespace {

struct Matrix {
  Matrix(std::int64_t rows, std::int64_t cols)
      : storage(static_cast<std::size_t>(rows * cols)), view(storage.data(), rows, cols) {}
  std::vector<double> storage;
  View<double> view;
};

Matrix product(View<const double> a, View<const double> b) {
  Matrix c(a.rows, b.cols);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t t = 0; t < a.cols; ++t)
      for (std::int64_t j = 0; j < b.cols; ++j) c.view(i, j) += a(i, t) * b(t, j);
  return c;
}

void check(View<const double> x, View<const double> w, const char* name) {
  if (w.rows != x.cols)
    core::fail(Code::usage, "{} has {} rows; it must have as many as x has columns, {}", name,
               w.rows, x.cols);
  attention::check_not_null("x", x);
  attention::check_not_null(name, w);
}

/// Calls row(i, logits) for every row i with the logits that it may attend to: all of them, or
/// 0 … i if causal.
template <class Function>
void for_each_row(View<const double> x, View<const double> w_q, View<const double> w_k, bool causal,
                  Function row) {
  check(x, w_q, "w_q");
  check(x, w_k, "w_k");
  if (w_q.cols != w_k.cols)
    core::fail(Code::usage, "w_q has {} columns and w_k {}; they must have the same number",
               w_q.cols, w_k.cols);
  const Matrix q = product(x, w_q);
  const Matrix k = product(x, w_k);
  std::vector<double> logits;
  for (std::int64_t i = 0; i < x.rows; ++i) {
    logits.assign(static_cast<std::size_t>(causal ? i + 1 : x.rows), 0.0);
    for (std::size_t j = 0; j < logits.size(); ++j)
      for (std::int64_t c = 0; c < q.view.cols; ++c)
        logits[j] += q.view(i, c) * k.view(static_cast<std::int64_t>(j), c);
    row(i, logits);
  }
}

/// Normalises exp[logits]. The maximum is subtracted first, to avoid overflow.
void normalise(std::vector<double>& logits) {
  double top = -std::numeric_limits<double>::infinity();
  for (const double s : logits) top = std::fmax(top, s);
  double total = 0;
  for (double& s : logits) total += s = std::exp(s - top);
  for (double& s : logits) s /= total;
}

void check_square(View<const double> x, View<double> out) {
  if (out.rows != x.rows || out.cols != x.rows)
    core::fail(Code::usage, "the output is {} × {}; for {} rows of x it must be {} × {}", out.rows,
               out.cols, x.rows, x.rows, x.rows);
  attention::check_not_null("the output", out);
}

void unnormalised(View<const double> x, View<const double> w_q, View<const double> w_k, bool causal,
                  View<double> out) {
  check_square(x, out);
  for_each_row(x, w_q, w_k, causal, [&](std::int64_t i, const std::vector<double>& logits) {
    for (std::int64_t j = 0; j < out.cols; ++j) {
      const auto at = static_cast<std::size_t>(j);
      out(i, j) = at < logits.size() ? std::exp(logits[at]) : 0.0;
    }
  });
}

void normalised(View<const double> x, View<const double> w_q, View<const double> w_k, bool causal,
                View<double> out) {
  check_square(x, out);
  for_each_row(x, w_q, w_k, causal, [&](std::int64_t i, std::vector<double>& logits) {
    normalise(logits);
    for (std::int64_t j = 0; j < out.cols; ++j) {
      const auto at = static_cast<std::size_t>(j);
      out(i, j) = at < logits.size() ? logits[at] : 0.0;
    }
  });
}

void attended(View<const double> x, View<const double> w_q, View<const double> w_k,
              View<const double> w_v, bool causal, View<double> out) {
  check(x, w_v, "w_v");
  if (out.rows != x.rows || out.cols != w_v.cols)
    core::fail(Code::usage, "the output is {} × {}; it must be {} × {}", out.rows, out.cols, x.rows,
               w_v.cols);
  attention::check_not_null("the output", out);
  const Matrix v = product(x, w_v);
  for_each_row(x, w_q, w_k, causal, [&](std::int64_t i, std::vector<double>& logits) {
    normalise(logits);
    for (std::int64_t c = 0; c < out.cols; ++c) out(i, c) = 0;
    for (std::size_t j = 0; j < logits.size(); ++j)
      for (std::int64_t c = 0; c < out.cols; ++c)
        out(i, c) += logits[j] * v.view(static_cast<std::int64_t>(j), c);
  });
}

}  // namespace

void usam(View<const double> x, View<const double> w_q, View<const double> w_k, View<double> out) {
  unnormalised(x, w_q, w_k, false, out);
}
void cusam(View<const double> x, View<const double> w_q, View<const double> w_k, View<double> out) {
  unnormalised(x, w_q, w_k, true, out);
}
void sam(View<const double> x, View<const double> w_q, View<const double> w_k, View<double> out) {
  normalised(x, w_q, w_k, false, out);
}
void csam(View<const double> x, View<const double> w_q, View<const double> w_k, View<double> out) {
  normalised(x, w_q, w_k, true, out);
}
void sa(View<const double> x, View<const double> w_q, View<const double> w_k,
        View<const double> w_v, View<double> out) {
  attended(x, w_q, w_k, w_v, false, out);
}
void csa(View<const double> x, View<const double> w_q, View<const double> w_k,
         View<const double> w_v, View<double> out) {
  attended(x, w_q, w_k, w_v, true, out);
}

}  // namespace tamis
