// The interface through which a program lends its own threads to the library.
#pragma once

#include <tamis/export.h>

namespace tamis {

/// Threads that do the work of calls. Its functions may be called from several threads at once.
class TAMIS_API Executor {
 public:
  virtual ~Executor() = default;
  /// The number of workers that can run at the same time, including the calling thread; at least 1.
  [[nodiscard]] virtual int concurrency() const = 0;
  /// Calls body(context, 0) on the calling thread and body(context, worker) for 0 < worker <
  /// workers on any other threads, each at most once. Returns when every body that has begun has
  /// ended. The workers share one list of items, and worker 0 does whatever the others leave, so
  /// the others may start late or not at all. It is better to leave out a worker whose thread is
  /// busy elsewhere than to wait for it. `body` does not throw.
  virtual void run(int workers, void* context, void (*body)(void* context, int worker)) = 0;
};

/// The executor of calls that are given a number of threads, or a Workspace that was made without
/// an executor. It is the library's own unless another was set. The library's own starts as many
/// threads as the process has cores, when they are first needed; they sleep soon after their work
/// is done.
TAMIS_API Executor& default_executor();

/// Makes calls that begin from now on use `executor` instead of the library's own threads; null
/// goes back to the library's own. `executor` must live until another is set and the calls that use
/// this one have returned.
TAMIS_API void set_default_executor(Executor* executor);

}  // namespace tamis
