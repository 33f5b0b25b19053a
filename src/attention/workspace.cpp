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
    const std::int64_t room = std::max(floats, size_ + size_ / 2);  // a growing context allocates rarely
    release();
    data_ = static_cast<float*>(::operator new(static_cast<std::size_t>(room) * sizeof(float), alignment));
    size_ = room;
  }
  return data_;
}

void Scratch::release() {
  if (data_ != nullptr) ::operator delete(data_, alignment);
  data_ = nullptr;
  size_ = 0;
}

Workspace::Workspace(int threads) {
  if (threads < 0)
    fail(Code::usage, "a workspace of {} threads was asked for; 0 (every core) or more are possible",
         threads);
  // More threads than cores only wait for each other, and OpenMP ends the process if it cannot make them.
  const int cores = hardware_thread_count();
  const int count = threads == 0 ? cores : std::min(threads, cores);
  impl_ = std::make_unique<Impl>();
  impl_->threads = count;
  impl_->worker.resize(static_cast<std::size_t>(count));
}

Workspace::~Workspace() = default;
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;
int Workspace::threads() const { return impl_->threads; }

}  // namespace tamis
