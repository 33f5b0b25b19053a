// Scratch memory and the threads that work with it. The caller owns them, so that hot calls
// allocate nothing.
#pragma once

#include <memory>

#include <tamis/executor.h>
#include <tamis/export.h>

namespace tamis {

/// Use one Workspace per calling thread: a call throws `usage` if another thread's call is using
/// its Workspace. The scratch memory grows to the needs of the largest call so far and is kept.
/// Results never depend on the number of threads.
class TAMIS_API Workspace {
 public:
  /// `threads` = 0, or more than the default executor has, uses all of it, which is every core that
  /// this process may use.
  explicit Workspace(int threads = 0);
  /// The same on the caller's executor, which must outlive the Workspace.
  Workspace(int threads, Executor& executor);
  ~Workspace();
  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;

  [[nodiscard]] int threads() const;

  struct Impl;
  /// Throws `usage` if this Workspace was moved from.
  [[nodiscard]] Impl& impl();

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace tamis
