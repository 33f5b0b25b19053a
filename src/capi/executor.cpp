// C ABI: executors.
#include "capi/executor.h"

#include <memory>
#include <mutex>
#include <vector>

namespace tamis::capi {

namespace {
constexpr std::size_t executor_size = 32;  // size of the struct in its first published version
static_assert(sizeof(tamis_executor) == executor_size && TAMIS_ENDS_WITH(tamis_executor, run));
}  // namespace

CExecutor::CExecutor(const tamis_executor* from)
    : c_(read_struct(from, executor_size, "tamis_executor")) {
  if (c_.concurrency == nullptr || c_.run == nullptr)
    core::fail(Code::usage, "a tamis_executor has no function {}",
               c_.run == nullptr ? "run" : "concurrency");
}

}  // namespace tamis::capi

using namespace tamis::capi;  // NOLINT(google-build-using-namespace): the functions below are
                              // outside it

tamis_code tamis_set_default_executor(const tamis_executor* executor) {
  return guarded([&] {
    // Never destroyed, not even with static objects, as a call that uses one may still run.
    static std::mutex mutex;
    static auto& all = *new std::vector<std::unique_ptr<CExecutor>>;
    if (executor == nullptr) return tamis::set_default_executor(nullptr);
    const std::lock_guard lock(mutex);
    all.push_back(std::make_unique<CExecutor>(executor));
    tamis::set_default_executor(all.back().get());
  });
}
