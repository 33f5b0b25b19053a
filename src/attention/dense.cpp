// Dense attention: checks its arguments, then calls `decode` or `prefill` by the number of rows per
// KV head.
#include "attention/dense.h"

#include "attention/check.h"
#include "attention/rounding.h"
#include "attention/workspace.h"

namespace tamis {
namespace {

void attend_all(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
                std::span<const std::int64_t> seen, Workspace& workspace,
                const SoftmaxStates& states) {
  const attention::DenseCall call = attention::dense_call(shape, q, kv, seen);
  if (shape.group() * shape.queries <= attention::decode_rows) {
    attention::decode(call, workspace.impl(), states);
  } else {
    attention::prefill(call, workspace.impl(), states);
  }
}

}  // namespace

attention::DenseCall attention::dense_call(const Shape& shape, View<const float> q,
                                           std::span<const KvPages> kv,
                                           std::span<const std::int64_t> seen) {
  const auto factor = static_cast<float>(static_cast<double>(shape.scale) * attention::log2_e);
  return {shape, q, kv, seen, kernels::kernels(), kv_type(shape.dtype), factor};
}

void dense_states(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
                  std::span<const std::int64_t> seen, Workspace& workspace,
                  const SoftmaxStates& states) {
  const attention::InUse use(workspace);
  attention::check_arguments(shape, q, kv, seen);
  attention::check_result(shape, states.o, states.m.size());
  attention::check_result(shape, states.o, states.l.size());
  attend_all(shape, q, kv, seen, workspace, states);
}

void dense(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
           std::span<const std::int64_t> seen, Workspace& workspace, View<float> out,
           std::span<float> lse) {
  const attention::InUse use(workspace);
  attention::check_arguments(shape, q, kv, seen);
  attention::check_result(shape, out, lse.size());
  // The states are built in the caller's own arrays; `finish` turns them into results in place.
  const SoftmaxStates states{lse, {workspace.impl().sums.get(shape.rows()), lse.size()}, out};
  attend_all(shape, q, kv, seen, workspace, states);
  finish(states, out, lse);
}

}  // namespace tamis
