// The inside of a Workspace: named scratch arrays that only grow.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <tamis/workspace.h>

#include "core/inside.h"
#include "core/parallel.h"

namespace tamis::attention {

/// An array of floats aligned to 64 bytes. Growing discards the contents.
class TAMIS_INSIDE Scratch {
 public:
  Scratch() = default;
  ~Scratch() { release(); }
  Scratch(Scratch&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Scratch& operator=(Scratch&&) = delete;

  /// At least `floats` of them, uninitialised.
  float* get(std::int64_t floats);
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// To so many, forgetting what it holds.
  void grow(std::int64_t floats);

 private:
  void release();
  float* data_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace tamis::attention

namespace tamis {

struct Workspace::Impl {
  int threads;
  Executor* executor = nullptr;            ///< the process's, if none was given
  std::atomic<const void*> user{nullptr};  ///< stands for the thread whose call works here
  attention::Scratch queries;              ///< scaled queries, padded
  attention::Scratch sums;                 ///< l of each row, where the caller has no place for it
  attention::Scratch partial;  ///< softmax states of the parts that items of a call produce
  attention::Scratch extensions;  ///< what an append does to each sequence
  std::vector<attention::Scratch> worker;  ///< one per thread, for what an item needs while it runs
  std::vector<attention::Scratch>
      item;  ///< one per thread, for what the stages of an item leave for each other
  std::vector<attention::Scratch> query;  ///< one per thread, for its queries

  [[nodiscard]] core::Crew crew() const { return {threads, executor}; }
  /// Makes the scratch of every thread as large as that of the thread with the largest, so that it
  /// does not matter which of them a call gives its largest item. Gives up where memory ends: a
  /// later call asks again for what it needs.
  void even_out() noexcept;
};

}  // namespace tamis

namespace tamis::attention {

/// Held by every call while it works in a Workspace: another thread's throws `usage`. Those that a
/// call makes itself, on its own thread, nest.
class TAMIS_INSIDE InUse {
 public:
  explicit InUse(Workspace& workspace);
  ~InUse();
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  Workspace::Impl& impl_;
  bool nested_;
};

}  // namespace tamis::attention
