// Scratch memory and the threads that work with it, owned by the caller so that hot calls allocate
// nothing.
#pragma once

#include <memory>

#include <tamis/executor.h>
#include <tamis/export.h>

namespace tamis {

/// One per calling thread: a call throws `usage` if another thread's call is using its Workspace.
/// Scratch grows to the largest call it has seen and is kept. Results never depend on the number of
/// threads.
class TAMIS_API Workspace {
 public:
  /// `threads` = 0, or more than there are, takes all of the default executor: every core this
  /// process may use.
  explicit Workspace(int threads = 0);
  /// The same on an executor of the caller's, which must outlive it.
  Workspace(int threads, Executor& executor);
  ~Workspace();
  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;

  [[nodiscard]] int threads() const;

  struct Impl;
  /// Throws `usage` if it was moved from.
  [[nodiscard]] Impl& impl();

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace tamis
