// C ABI: softmax states, and bounds on rounding.
#include "capi/attention.h"

namespace tamis::capi {
namespace {

constexpr std::size_t rounding_size = 32;  // size of the struct in its first published version
static_assert(sizeof(tamis_rounding) == rounding_size && TAMIS_ENDS_WITH(tamis_rounding, lse));

SoftmaxStates states_of(const tamis_states* from, std::int64_t rows, std::int64_t value_dim,
                        const char* name) {
  const tamis_states& c = required(from, name);
  return {required(c.m, rows, "the array m of the states"),
          required(c.l, rows, "the array l of the states"),
          matrix(c.o, rows, value_dim, "the array o of the states")};
}

}  // namespace
}  // namespace tamis::capi

using namespace tamis::capi;  // NOLINT(google-build-using-namespace): the functions below are
                              // outside it

tamis_code tamis_dense_states(const tamis_shape* shape, const float* q, const tamis_kv_pages* kv,
                              const int64_t* seen, tamis_workspace* workspace,
                              const tamis_states* states) {
  return guarded([&] {
    const tamis::Shape s = shape_of(shape);
    tamis_workspace& w = required(workspace, "workspace");
    const tamis::attention::InUse use(w.workspace);
    read_pages(s.kv_heads, kv, w.heads);
    const auto queries = matrix(q, s.rows(), s.head_dim, "q");
    const auto to = states_of(states, s.rows(), s.value_dim, "states");
    tamis::dense_states(s, queries, w.heads, seen_of(s, seen), w.workspace, to);
  });
}

tamis_code tamis_merge(int64_t rows, int64_t value_dim, const tamis_states* into,
                       const tamis_states* from) {
  return guarded([&] {
    const auto to = states_of(into, rows, value_dim, "into");
    tamis::merge(to, states_of(from, rows, value_dim, "from"));
  });
}

tamis_code tamis_finish(int64_t rows, int64_t value_dim, const tamis_states* states, float* out,
                        float* lse) {
  return guarded([&] {
    const auto from = states_of(states, rows, value_dim, "states");
    const auto to = matrix(out, rows, value_dim, "out");
    tamis::finish(from, to, required(lse, rows, "lse"));
  });
}

tamis_code tamis_attention_rounding(const tamis_shape* shape, int64_t keys, double query_norm,
                                    double key_norm, double value_norm, tamis_rounding* out) {
  return guarded([&] {
    const tamis::Rounding r =
        tamis::attention_rounding(shape_of(shape), keys, query_norm, key_norm, value_norm);
    write_struct(out, {sizeof *out, r.tau, r.error, r.lse}, rounding_size, "tamis_rounding");
  });
}
