// The executor that a C caller provides.
#pragma once

#include <tamis/executor.h>

#include "capi/call.h"

namespace tamis::capi {

class CExecutor final : public Executor {
 public:
  /// Throws `usage` if a function is missing.
  explicit CExecutor(const tamis_executor* from);

  [[nodiscard]] int concurrency() const override { return c_.concurrency(c_.context); }
  void run(int workers, void* context, void (*body)(void* context, int worker)) override {
    c_.run(c_.context, workers, context, body);
  }

 private:
  tamis_executor c_;
};

}  // namespace tamis::capi
