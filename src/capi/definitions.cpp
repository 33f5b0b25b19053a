// C ABI: the definitions of the paper in f64.
#include "capi/attention.h"

namespace tamis::capi {
namespace {

using Matrix = void (*)(View<const double>, View<const double>, View<const double>, View<double>);
using Output = void (*)(View<const double>, View<const double>, View<const double>,
                        View<const double>, View<double>);

struct Sizes {
  std::int64_t n;
  std::int64_t d_hid;
  std::int64_t d;
};

/// Throws `usage` if the products of x and the weights, which the definitions store, could not fit
/// memory. Where d_hid is 0, no argument is that large, so the arguments' own checks do not tell.
void check_projections(const Sizes& s) {
  extent({s.n, s.d, sizeof(double)}, "the product of x and w_q");
}

tamis_code call(Matrix definition, Sizes s, const double* x, const double* w_q, const double* w_k,
                double* out) {
  return guarded([&] {
    check_projections(s);
    definition(matrix(x, s.n, s.d_hid, "x"), matrix(w_q, s.d_hid, s.d, "w_q"),
               matrix(w_k, s.d_hid, s.d, "w_k"), matrix(out, s.n, s.n, "out"));
  });
}

tamis_code call(Output definition, Sizes s, const double* x, const double* w_q, const double* w_k,
                const double* w_v, double* out) {
  return guarded([&] {
    check_projections(s);
    definition(matrix(x, s.n, s.d_hid, "x"), matrix(w_q, s.d_hid, s.d, "w_q"),
               matrix(w_k, s.d_hid, s.d, "w_k"), matrix(w_v, s.d_hid, s.d, "w_v"),
               matrix(out, s.n, s.d, "out"));
  });
}

}  // namespace
}  // namespace tamis::capi

tamis_code tamis_usam(int64_t n, int64_t d_hid, int64_t d, const double* x, const double* w_q,
                      const double* w_k, double* out) {
  return tamis::capi::call(tamis::usam, {n, d_hid, d}, x, w_q, w_k, out);
}

tamis_code tamis_sam(int64_t n, int64_t d_hid, int64_t d, const double* x, const double* w_q,
                     const double* w_k, double* out) {
  return tamis::capi::call(tamis::sam, {n, d_hid, d}, x, w_q, w_k, out);
}

tamis_code tamis_sa(int64_t n, int64_t d_hid, int64_t d, const double* x, const double* w_q,
                    const double* w_k, const double* w_v, double* out) {
  return tamis::capi::call(tamis::sa, {n, d_hid, d}, x, w_q, w_k, w_v, out);
}

tamis_code tamis_cusam(int64_t n, int64_t d_hid, int64_t d, const double* x, const double* w_q,
                       const double* w_k, double* out) {
  return tamis::capi::call(tamis::cusam, {n, d_hid, d}, x, w_q, w_k, out);
}

tamis_code tamis_csam(int64_t n, int64_t d_hid, int64_t d, const double* x, const double* w_q,
                      const double* w_k, double* out) {
  return tamis::capi::call(tamis::csam, {n, d_hid, d}, x, w_q, w_k, out);
}

tamis_code tamis_csa(int64_t n, int64_t d_hid, int64_t d, const double* x, const double* w_q,
                     const double* w_k, const double* w_v, double* out) {
  return tamis::capi::call(tamis::csa, {n, d_hid, d}, x, w_q, w_k, w_v, out);
}
