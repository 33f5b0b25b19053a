#include "workspaces.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace tamis::python {
namespace {

/// The workspaces that no call uses, by their number of threads.
struct Idle {
  std::mutex mutex;
  std::map<int, std::vector<std::unique_ptr<Workspace>>> by_threads;
};

Idle& idle() {
  static Idle& all = *new Idle;  // never destroyed: a call may run while the process ends
  return all;
}

}  // namespace

BorrowedWorkspace::BorrowedWorkspace(int threads) : threads_(threads) {
  Idle& all = idle();
  {
    const std::lock_guard lock(all.mutex);
    auto& workspaces = all.by_threads[threads];
    if (!workspaces.empty()) {
      workspace_ = std::move(workspaces.back());
      workspaces.pop_back();
    }
    workspaces.reserve(workspaces.size() + 1);  // so that giving one back does not throw
  }
  if (!workspace_) workspace_ = std::make_unique<Workspace>(threads);
}

BorrowedWorkspace::~BorrowedWorkspace() {
  Idle& all = idle();
  const std::lock_guard lock(all.mutex);
  all.by_threads[threads_].push_back(std::move(workspace_));
}

}  // namespace tamis::python
