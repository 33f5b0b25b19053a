// The kernels of descent.h in terms of a target's vector operations; lab/kernels/body.h includes
// this file. `push` reads each listed key once and takes 2·d flops for it, 6·d if it is in excess.
// `pick` reads each logit once.

namespace tamis::lab::kernels {
namespace {

void pick_above(const float* s, int keys, const float* above, std::int32_t first, std::int32_t* key,
                float* value, std::int32_t* count) {
  const V low = load(above);
  const V high = load(above + W);
  for (int i = 0; i < T; ++i) count[i] = 0;
  for (int j = 0; j < keys; ++j) {
    const float* row = s + j * T;
    std::uint32_t mask = less_mask(low, load(row)) | less_mask(high, load(row + W)) << W;
    while (mask != 0) {
      const int i = __builtin_ctz(mask);
      mask &= mask - 1;
      const std::int64_t place = i * page_tokens + count[i]++;
      key[place] = first + j;
      value[place] = row[i];
    }
  }
}

/// `push` for rows of N vectors. q and its gradient stay in registers.
template <int N>
float push_row(const float* q, const float* k, const std::int32_t* keys, int count, float above,
               float weight, float* grad_q, float* grad_k) {
  constexpr std::int64_t stride = N * W;
  V x[N];
  V grad[N];
  for (int v = 0; v < N; ++v) {
    x[v] = load(q + v * W);
    grad[v] = load(grad_q + v * W);
  }
  float total = 0;
  const auto one = [&](std::int32_t j, float s) {
    if (!(s > above)) return;
    const float e = (s - above) * weight;
    total += e;
    const V by = set1(e);
    const float* key = k + j * stride;
    float* out = grad_k + j * stride;
    for (int v = 0; v < N; ++v) {
      grad[v] = fma(by, load(key + v * W), grad[v]);
      store(out + v * W, fma(by, x[v], load(out + v * W)));
    }
  };
  int c = 0;
  for (; c + 4 <= count; c += 4) {
    V sum[4];
    for (int i = 0; i < 4; ++i) {
      const float* key = k + keys[c + i] * stride;
      sum[i] = mul(x[0], load(key));
      for (int v = 1; v < N; ++v) sum[i] = fma(x[v], load(key + v * W), sum[i]);
    }
    float s[4];
    reduce4(sum, s);
    for (int i = 0; i < 4; ++i) one(keys[c + i], s[i]);
  }
  for (; c < count; ++c) {
    const float* key = k + keys[c] * stride;
    V sum = mul(x[0], load(key));
    for (int v = 1; v < N; ++v) sum = fma(x[v], load(key + v * W), sum);
    one(keys[c], reduce_add(sum));
  }
  for (int v = 0; v < N; ++v) store(grad_q + v * W, grad[v]);
  return total;
}

TAMIS_INLINE float dot_row(const float* x, const float* y, std::int64_t n) {
  V sum = mul(load(x), load(y));
  for (std::int64_t i = W; i < n; i += W) sum = fma(load(x + i), load(y + i), sum);
  return reduce_add(sum);
}

float push(const float* q, const float* k, std::int64_t stride, const std::int32_t* keys, int count,
           float above, float weight, float* grad_q, float* grad_k) {
  switch (stride / W) {
    case 1:
      return push_row<1>(q, k, keys, count, above, weight, grad_q, grad_k);
    case 2:
      return push_row<2>(q, k, keys, count, above, weight, grad_q, grad_k);
    case 3:
      return push_row<3>(q, k, keys, count, above, weight, grad_q, grad_k);
    case 4:
      return push_row<4>(q, k, keys, count, above, weight, grad_q, grad_k);
    default:
      break;
  }
  float total = 0;
  for (int c = 0; c < count; ++c) {
    const float* key = k + keys[c] * stride;
    const float s = dot_row(q, key, stride);
    if (!(s > above)) continue;
    const float e = (s - above) * weight;
    total += e;
    const V by = set1(e);
    float* out = grad_k + keys[c] * stride;
    for (std::int64_t i = 0; i < stride; i += W) {
      store(grad_q + i, fma(by, load(key + i), load(grad_q + i)));
      store(out + i, fma(by, load(q + i), load(out + i)));
    }
  }
  return total;
}

void dots(const float* q, const float* k, std::int64_t stride, const std::int32_t* keys, int count,
          float* out) {
  for (int c = 0; c < count; ++c) out[c] = dot_row(q, k + keys[c] * stride, stride);
}

void adam(float* x, const float* grad, float* mean, float* square, std::int64_t n, float rate,
          float correction) {
  const V old1 = set1(0.9F);
  const V new1 = set1(0.1F);
  const V old2 = set1(0.99F);
  const V new2 = set1(0.01F);
  for (std::int64_t i = 0; i < n; i += W) {
    const V g = load(grad + i);
    const V m = fma(g, new1, mul(load(mean + i), old1));
    const V s = fma(mul(g, g), new2, mul(load(square + i), old2));
    store(mean + i, m);
    store(square + i, s);
    const V step = div(mul(set1(rate), m), add(sqrt(mul(s, set1(correction))), set1(1e-6F)));
    store(x + i, sub(load(x + i), step));
  }
}

constexpr DescentKernels make_descent_table() { return {pick_above, push, dots, adam}; }

}  // namespace
}  // namespace tamis::lab::kernels
