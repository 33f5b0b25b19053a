#include "attention/workspace.h"

#include <algorithm>

#include "core/fail.h"
#include "core/inside_of.h"

namespace tamis {
namespace {
constexpr std::align_val_t alignment{64};
}

float* attention::Scratch::get(std::int64_t floats) {
  if (floats > size_)
    grow(std::max(floats, size_ + size_ / 2));  // so that a growing context allocates rarely
  return data_;
}

void attention::Scratch::grow(std::int64_t floats) {
  release();
  data_ = static_cast<float*>(
      ::operator new(static_cast<std::size_t>(floats) * sizeof(float), alignment));
  size_ = floats;
}

void attention::Scratch::release() {
  if (data_ != nullptr) ::operator delete(data_, alignment);
  data_ = nullptr;
  size_ = 0;
}

void Workspace::Impl::even_out() noexcept {
  for (std::vector<attention::Scratch>* each : {&worker, &item, &query}) {
    const std::int64_t most =
        std::ranges::max_element(*each, {}, &attention::Scratch::size)->size();
    for (attention::Scratch& scratch : *each) try {
        if (scratch.size() < most) scratch.grow(most);
      } catch (const std::bad_alloc&) {
        return;
      }
  }
}

namespace {

/// Makes scratch memory for the requested threads, at most as many as the executor has, since more
/// would only wait for each other.
std::unique_ptr<Workspace::Impl> make(int threads, const Executor& executor) {
  if (threads < 0)
    core::fail(Code::usage,
               "a workspace of {} threads was asked for; 0 (every core) or more are possible",
               threads);
  const int most = std::max(1, executor.concurrency());
  auto impl = std::make_unique<Workspace::Impl>();
  impl->threads = threads == 0 ? most : std::min(threads, most);
  for (std::vector<attention::Scratch>* each : {&impl->worker, &impl->item, &impl->query})
    each->resize(static_cast<std::size_t>(impl->threads));
  return impl;
}

/// The address of this variable identifies the running thread.
thread_local char this_thread = 0;

}  // namespace

Workspace::Workspace(int threads) : impl_(make(threads, default_executor())) {}
Workspace::Workspace(int threads, Executor& executor) : impl_(make(threads, executor)) {
  impl_->executor = &executor;
}

Workspace::~Workspace() = default;
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;
Workspace::Impl& Workspace::impl() { return core::inside_of(impl_, "a Workspace"); }
int Workspace::threads() const { return core::inside_of(impl_, "a Workspace").threads; }

attention::InUse::InUse(Workspace& workspace) : impl_(workspace.impl()) {
  const void* nobody = nullptr;
  const void* const me = &this_thread;
  nested_ = impl_.user.load(std::memory_order_relaxed) == me;
  if (!nested_ && !impl_.user.compare_exchange_strong(nobody, me, std::memory_order_acquire))
    core::fail(Code::usage,
               "the workspace is in use by another thread's call; give every thread its own");
}

attention::InUse::~InUse() {
  if (!nested_) impl_.user.store(nullptr, std::memory_order_release);
}

}  // namespace tamis
