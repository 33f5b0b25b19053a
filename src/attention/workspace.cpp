#include "attention/workspace.h"

#include <algorithm>

#include "core/fail.h"
#include "core/parallel.h"

namespace tamis {
namespace {
constexpr std::align_val_t alignment{64};
}

float* Scratch::get(std::int64_t floats) {
  if (floats > size_) {
    release();
    data_ =
        static_cast<float*>(::operator new(static_cast<std::size_t>(floats) * sizeof(float), alignment));
    size_ = floats;
  }
  return data_;
}

void Scratch::release() {
  if (data_ != nullptr) ::operator delete(data_, alignment);
  data_ = nullptr;
  size_ = 0;
}

Workspace::Workspace(int threads) {
  if (threads < 0 || threads > 4096)
    fail(Code::usage, "a workspace of {} threads was asked for; 0 (every core) to 4096 are possible",
         threads);
  const int count = threads == 0 ? hardware_thread_count() : threads;
  impl_ = std::make_unique<Impl>();
  impl_->threads = count;
  impl_->worker.resize(static_cast<std::size_t>(count));
}

Workspace::~Workspace() = default;
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;
int Workspace::threads() const { return impl_->threads; }

}  // namespace tamis
