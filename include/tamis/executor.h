// Whose threads work: an engine's own, or those of the library.
#pragma once

#include <tamis/export.h>

namespace tamis {

/// Threads that an engine lends. Calls may come from several threads at once.
class TAMIS_API Executor {
 public:
  virtual ~Executor() = default;
  /// Workers that can run at the same time, the calling thread among them; at least 1.
  [[nodiscard]] virtual int concurrency() const = 0;
  /// Calls body(context, 0) on the calling thread and body(context, worker) for 0 < worker <
  /// workers on any other, each at most once; returns when all that have begun have ended. The
  /// workers share out one list of items, and worker 0 does whatever the others leave: they may
  /// come late, or not at all, and one whose thread is busy elsewhere is better left out than
  /// waited for. `body` throws nothing.
  virtual void run(int workers, void* context, void (*body)(void* context, int worker)) = 0;
};

/// The one that works for calls which are given a number of threads, or a Workspace made without an
/// executor: the library's own, unless another was set. The library's own makes as many threads as
/// the process has cores, when first needed; they sleep soon after their work is done.
TAMIS_API Executor& default_executor();

/// Puts `executor` in the place of the library's own threads, for the calls that begin from now on;
/// null puts those back. It must live until another is set and the calls that it works for have
/// returned.
TAMIS_API void set_default_executor(Executor* executor);

}  // namespace tamis
