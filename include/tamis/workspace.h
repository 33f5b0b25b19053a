// Scratch memory and the number of threads, owned by the caller so that hot calls allocate nothing.
#pragma once

#include <memory>

#include <tamis/export.h>

namespace tamis {

/// One per calling thread: two calls must not share a Workspace at the same time. Scratch grows to
/// the largest call it has seen and is kept. Results never depend on the number of threads.
class TAMIS_API Workspace {
 public:
  /// `threads` = 0, or more than there are, takes every core this process may use.
  explicit Workspace(int threads = 0);
  ~Workspace();
  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;

  [[nodiscard]] int threads() const;

  struct Impl;
  [[nodiscard]] Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace tamis
