// A C interface to ggml's flash_attn_ext, so that bench/dense.py can call it beside the others. It
// reads K and V where they lie, so that every contender reads the same bytes. bench/peers.sh
// compiles it against ggml's source; it is not part of libtamis.
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>

#include <cstdint>
#include <cstring>
#include <memory>

namespace {

template <auto release>
struct Release {
  void operator()(auto* p) const { release(p); }
};
template <class T, auto release>
using Owned = std::unique_ptr<T, Release<release>>;

struct Peer {
  // Members are released in reverse order: tensors before their buffers, buffers before their
  // backend.
  Owned<ggml_backend, ggml_backend_free> backend;
  Owned<ggml_backend_buffer, ggml_backend_buffer_free> k_buffer, v_buffer, rest;
  Owned<ggml_context, ggml_free> context;
  ggml_cgraph* graph = nullptr;
  ggml_tensor* q = nullptr;
  ggml_tensor* out = nullptr;
};

Owned<ggml_backend_buffer, ggml_backend_buffer_free> wrap(ggml_tensor* tensor, void* data) {
  Owned<ggml_backend_buffer, ggml_backend_buffer_free> buffer(
      ggml_backend_cpu_buffer_from_ptr(data, ggml_nbytes(tensor)));
  if (buffer && ggml_backend_tensor_alloc(buffer.get(), tensor, data) != GGML_STATUS_SUCCESS)
    buffer.reset();
  return buffer;
}

/// Returns the type of this name ("f16", "q8_0", "q4_0"), or GGML_TYPE_COUNT.
ggml_type type_named(const char* name) {
  for (const ggml_type type : {GGML_TYPE_F16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0})
    if (std::strcmp(name, ggml_type_name(type)) == 0) return type;
  return GGML_TYPE_COUNT;
}

}  // namespace

extern "C" {

/// Returns the bytes that d numbers take in a quantised type.
std::size_t ggml_peer_row_bytes(const char* type, int64_t d) {
  return ggml_row_size(type_named(type), d);
}

/// Quantises rows of d numbers.
void ggml_peer_quantise(const char* type, const float* from, void* to, int64_t rows, int64_t d) {
  ggml_quantize_chunk(type_named(type), from, to, 0, rows, d, nullptr);
}

/// Prepares one decode step. q is [query_heads, d] in f32; k and v are [kv_heads, n, d] of the type
/// and remain the caller's. `fold` presents the query group of a KV head as that many queries of
/// one head. Returns null on failure.
Peer* ggml_peer_new(const char* type, int64_t query_heads, int64_t kv_heads, int64_t n, int64_t d,
                    float scale, int fold, int threads, void* k, void* v) {
  auto peer = std::make_unique<Peer>();
  peer->backend.reset(ggml_backend_cpu_init());
  if (!peer->backend) return nullptr;
  ggml_backend_cpu_set_n_threads(peer->backend.get(), threads);

  constexpr std::size_t tensors = 8;
  peer->context.reset(
      ggml_init({ggml_tensor_overhead() * tensors + ggml_graph_overhead(), nullptr, true}));
  ggml_context* context = peer->context.get();
  if (context == nullptr) return nullptr;

  peer->q = fold != 0
                ? ggml_new_tensor_3d(context, GGML_TYPE_F32, d, query_heads / kv_heads, kv_heads)
                : ggml_new_tensor_3d(context, GGML_TYPE_F32, d, 1, query_heads);
  ggml_tensor* keys = ggml_new_tensor_3d(context, type_named(type), d, n, kv_heads);
  ggml_tensor* values = ggml_new_tensor_3d(context, type_named(type), d, n, kv_heads);
  peer->k_buffer = wrap(keys, k);
  peer->v_buffer = wrap(values, v);
  if (!peer->k_buffer || !peer->v_buffer) return nullptr;

  peer->out = ggml_flash_attn_ext(context, peer->q, keys, values, nullptr, scale, 0.0F, 0.0F);
  ggml_flash_attn_ext_set_prec(peer->out, GGML_PREC_F32);
  peer->graph = ggml_new_graph(context);
  ggml_build_forward_expand(peer->graph, peer->out);
  peer->rest.reset(ggml_backend_alloc_ctx_tensors(context, peer->backend.get()));
  if (!peer->rest) return nullptr;
  return peer.release();
}

/// Copies q, which is [query_heads, d] whether folded or not, since the heads of a group are
/// neighbours.
void ggml_peer_set_q(Peer* peer, const float* q) {
  std::memcpy(peer->q->data, q, ggml_nbytes(peer->q));
}

/// Computes the step. Returns 0 on success.
int ggml_peer_run(Peer* peer) {
  return ggml_backend_graph_compute(peer->backend.get(), peer->graph) == GGML_STATUS_SUCCESS ? 0
                                                                                             : 1;
}

/// Copies the output as [query_heads, d]; ggml itself writes [queries, heads, d].
void ggml_peer_output(const Peer* peer, float* out) {
  const ggml_tensor* t = peer->out;
  const int64_t d = t->ne[0], heads = t->ne[1], queries = t->ne[2];
  const auto* data = static_cast<const float*>(t->data);
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < queries; ++i)
      std::memcpy(out + (h * queries + i) * d, data + (i * heads + h) * d, sizeof(float) * d);
}

void ggml_peer_free(Peer* peer) { delete peer; }

}  // extern "C"
