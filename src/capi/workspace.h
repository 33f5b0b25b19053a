// The handle of a workspace in the C ABI.
#pragma once

#include <tamis/attend.h>
#include <tamis/kv.h>
#include <tamis/workspace.h>

#include <memory>
#include <vector>

#include "capi/executor.h"

struct tamis_workspace {
  explicit tamis_workspace(int threads) : workspace(threads) {}
  tamis_workspace(int threads, const tamis_executor* on)
      : executor(std::make_unique<tamis::capi::CExecutor>(on)), workspace(threads, *executor) {}
  std::unique_ptr<tamis::capi::CExecutor> executor;  ///< null for the default one
  tamis::Workspace workspace;
  // Kept between calls, so that later calls allocate nothing.
  std::vector<tamis::KvPages> heads;
  std::vector<tamis::Budget> budgets;
  std::vector<tamis::Certificate> certificates;
};
