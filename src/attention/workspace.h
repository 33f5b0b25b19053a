// The inside of a Workspace: named scratch arrays that only grow.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <tamis/workspace.h>

#include "core/parallel.h"

namespace tamis {

/// An array of floats aligned to 64 bytes. Growing discards the contents.
class Scratch {
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

struct Workspace::Impl {
  int threads;
  Executor* executor = nullptr;            ///< the process's, if none was given
  std::atomic<const void*> user{nullptr};  ///< stands for the thread whose call works here
  Scratch queries;                         ///< scaled queries, padded
  Scratch sums;                            ///< l of each row, where the caller has no place for it
  Scratch partial;                         ///< softmax states of the parts that items of a call produce
  Scratch growths;                         ///< what an append does to each sequence
  std::vector<Scratch> worker;             ///< one per thread, for what an item needs while it runs
  std::vector<Scratch> item;   ///< one per thread, for what the stages of an item leave for each other
  std::vector<Scratch> query;  ///< one per thread, for its queries

  [[nodiscard]] Crew crew() const { return {threads, executor}; }
  /// Makes the scratch of every thread as large as that of the thread with the largest, so that it does
  /// not matter which of them a call gives its largest item. Gives up where memory ends: a later call asks
  /// again for what it needs.
  void even_out() noexcept;
};

/// Held by every call while it works in a Workspace: another thread's throws `usage`. Those that a call
/// makes itself, on its own thread, nest.
class InUse {
 public:
  explicit InUse(Workspace& workspace);
  ~InUse();
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  Workspace::Impl& impl_;
  bool nested_;
};

}  // namespace tamis
