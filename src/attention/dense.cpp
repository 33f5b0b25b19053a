// Dense attention: checks its arguments, then decodes or prefills by the number of rows per KV head.
#include "attention/dense.h"

#include "attention/check.h"
#include "attention/workspace.h"

namespace tamis {
namespace {

void attend_all(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
                std::span<const std::int64_t> seen, Workspace& workspace, const SoftmaxStates& states) {
  const DenseCall call = dense_call(shape, q, kv, seen);
  if (shape.group() * shape.queries <= decode_rows) {
    decode(call, workspace.impl(), states);
  } else {
    prefill(call, workspace.impl(), states);
  }
}

}  // namespace

DenseCall dense_call(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
                     std::span<const std::int64_t> seen) {
  const auto factor = static_cast<float>(static_cast<double>(shape.scale) * 1.4426950408889634);
  return {shape, q, kv, seen, kernels(), kv_type(shape.dtype), factor};
}

void dense_states(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
                  std::span<const std::int64_t> seen, Workspace& workspace, const SoftmaxStates& states) {
  const InUse use(workspace);
  check_arguments(shape, q, kv, seen);
  check_result(shape, states.o, states.m.size());
  check_result(shape, states.o, states.l.size());
  attend_all(shape, q, kv, seen, workspace, states);
}

void dense(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
           std::span<const std::int64_t> seen, Workspace& workspace, View<float> out,
           std::span<float> lse) {
  const InUse use(workspace);
  check_arguments(shape, q, kv, seen);
  check_result(shape, out, lse.size());
  // The states grow in the caller's own arrays; `finish` turns them into results in place.
  const SoftmaxStates states{lse, {workspace.impl().sums.get(shape.rows()), lse.size()}, out};
  attend_all(shape, q, kv, seen, workspace, states);
  finish(states, out, lse);
}

}  // namespace tamis
