// The version of this build, and the targets, threads and libraries that it can use here.
#include <tamis/info.h>

#include "core/hash.h"
#include "core/parallel.h"
#include "core/thread_pool.h"
#include "kernels/kernels.h"

namespace tamis {

std::string_view version() { return TAMIS_VERSION; }

std::vector<Target> targets() {
  int count = 0;
  const kernels::KernelTarget* all = kernels::kernel_targets(count);
  std::vector<Target> result;
  result.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) result.push_back({all[i].kernels->name, all[i].runs_here});
  return result;
}

std::string_view target() { return kernels::kernels().name; }

int hardware_threads() { return core::hardware_thread_count(); }

std::string_view parallel_runtime() {
  return &default_executor() == &core::own_threads() ? "threads" : "executor";
}

std::vector<std::string> libraries() { return {core::hash_version()}; }

}  // namespace tamis
