// Scratch memory for calls from Python. Every call borrows a workspace that no other call uses, so
// that threads of Python may call at once, and caches of many layers share what one of them needs.
#pragma once

#include <memory>

#include <tamis/workspace.h>

namespace tamis::python {

/// A workspace, borrowed for one call. There are as many as calls have run at once.
class BorrowedWorkspace {
 public:
  /// With this many threads; 0 means all cores.
  explicit BorrowedWorkspace(int threads);
  ~BorrowedWorkspace();
  BorrowedWorkspace(const BorrowedWorkspace&) = delete;
  BorrowedWorkspace& operator=(const BorrowedWorkspace&) = delete;

  [[nodiscard]] Workspace& get() const { return *workspace_; }

 private:
  int threads_;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace tamis::python
