// The kernels of rows.h in terms of a target's vector operations; lab/kernels/body.h includes this
// file. Every sum over keys is in f64, so that rounding comes from logits and weights alone. The
// kernels take a few instructions per logit.

namespace tamis::lab::kernels {
namespace {

void untile(const float* s, int keys, float* rows, std::int64_t stride) {
  int j = 0;
  for (; j + transposed <= keys; j += transposed)
    for (int i = 0; i < T; i += transposed)
      transpose(s + j * T + i, T, rows + i * stride + j, stride);
  for (; j < keys; ++j)
    for (int i = 0; i < T; ++i) rows[i * stride + j] = s[j * T + i];
}

RowExtent extent(const float* s, std::int64_t n) {
  V top = set1(s[0]);
  V bottom = top;
  V finite = zero();  // 0·s is NaN for an infinite or NaN s, and stays so
  D sum = zero_doubles();
  std::int64_t j = 0;
  for (; j + W <= n; j += W) {
    const V x = load(s + j);
    top = max(top, x);
    bottom = min(bottom, x);
    finite = fma(x, zero(), finite);
    sum = add(sum, to_doubles(x));
  }
  if (j < n) {
    const int rest = static_cast<int>(n - j);
    float last[W];
    for (int i = 0; i < W; ++i) last[i] = s[i < rest ? j + i : 0];
    const V x = load(last);
    top = max(top, x);
    bottom = min(bottom, x);
    finite = fma(x, zero(), finite);
    sum = add(sum, to_doubles(first_lanes(x, rest)));
  }
  return {reduce_max(top), -reduce_max(sub(zero(), bottom)), reduce_add(sum),
          reduce_add(finite) == 0};
}

RowSums weigh_row(const float* s, std::int64_t n, float top, double centre, float per_unit,
                  float last, float* w, std::int16_t* bucket) {
  const V shift = set1(top);
  const V factor = set1(-per_unit);
  const V most = set1(last);
  const D middle = set1_doubles(centre);
  D weighted = zero_doubles();
  D squares = zero_doubles();
  const auto one = [&](std::int64_t j, auto masked) {
    const V t = sub(load(s + j), shift);
    const V p = exp2_vector(t);
    store(w + j, p);
    store_shorts(bucket + j, to_integers(min(mul(t, factor), most)));
    const D t64 = to_doubles(masked(t));
    weighted = fma(to_doubles(masked(p)), t64, weighted);
    return t64;
  };
  std::int64_t j = 0;
  for (; j + W <= n; j += W) {
    const D away = sub(one(j, [](V x) { return x; }), middle);
    squares = fma(away, away, squares);
  }
  if (j < n) {
    const int rest = static_cast<int>(n - j);
    const V ones = first_lanes(set1(1.0F), rest);
    const D t64 = one(j, [&](V x) { return first_lanes(x, rest); });
    const D away = sub(t64, mul(middle, to_doubles(ones)));
    squares = fma(away, away, squares);
  }
  return {reduce_add(weighted), reduce_add(squares)};
}

void sums_of_32(const float* w, std::int64_t n, double* sums) {
  std::int64_t first = 0;
  for (; first + 32 <= n; first += 32) {
    D sum = to_doubles(load(w + first));
    for (int j = W; j < 32; j += W) sum = add(sum, to_doubles(load(w + first + j)));
    *sums++ = reduce_add(sum);
  }
  double rest = 0;
  for (std::int64_t j = first; j < n; ++j) rest += w[j];
  if (first < n) *sums = rest;
}

/// 2^x for −1000 ≤ x ≤ 0. 2^f with |f| ≤ ½ is computed by its Taylor series in f·ln 2 up to degree
/// 13, whose remainder is below 2^-57. Rounding adds a few units of 2^-53.
TAMIS_INLINE D exp2_doubles(D x) {
  const D n = round_nearest(x);
  const D f = sub(x, n);
  D g = set1_doubles(0x1.816193166d0f9p-40);
  g = fma(g, f, set1_doubles(0x1.c3bd650fc2986p-36));
  g = fma(g, f, set1_doubles(0x1.e8cac7351bb25p-32));
  g = fma(g, f, set1_doubles(0x1.e4cf5158b8ecap-28));
  g = fma(g, f, set1_doubles(0x1.b5253d395e7c4p-24));
  g = fma(g, f, set1_doubles(0x1.62c0223a5c824p-20));
  g = fma(g, f, set1_doubles(0x1.ffcbfc588b0c7p-17));
  g = fma(g, f, set1_doubles(0x1.430912f86c787p-13));
  g = fma(g, f, set1_doubles(0x1.5d87fe78a6731p-10));
  g = fma(g, f, set1_doubles(0x1.3b2ab6fba4e77p-7));
  g = fma(g, f, set1_doubles(0x1.c6b08d704a0c0p-5));
  g = fma(g, f, set1_doubles(0x1.ebfbdff82c58fp-3));
  g = fma(g, f, set1_doubles(0x1.62e42fefa39efp-1));
  return mul(fma(g, f, set1_doubles(1.0)), power_of_two(n));
}

void weigh_f64(const float* s, std::int64_t n, float top, double* w) {
  const D shift = set1_doubles(top);
  const auto weight = [&](const float* p) {
    return exp2_doubles(max(sub(to_doubles(load(p)), shift), set1_doubles(-1000)));
  };
  std::int64_t j = 0;
  for (; j + W <= n; j += W) store(w + j, weight(s + j));
  if (j < n) {
    float from[W];
    double to[W];
    for (int i = 0; i < W; ++i) from[i] = j + i < n ? s[j + i] : top;
    store(to, weight(from));
    for (int i = 0; j + i < n; ++i) w[j + i] = to[i];
  }
}

constexpr RowKernels make_row_table() {
  return {untile, extent, weigh_row, sum_of, sums_of_32, weigh_f64};
}

}  // namespace
}  // namespace tamis::lab::kernels
