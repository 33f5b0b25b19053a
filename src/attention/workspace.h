// The implementation of Workspace: named scratch arrays that only grow.
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

  /// At least `floats` floats, uninitialised unless an earlier call filled them.
  float* get(std::int64_t floats);
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// Grows to `floats` floats and discards the contents.
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
  Executor* executor = nullptr;            ///< null means the process's
  std::atomic<const void*> user{nullptr};  ///< identifies the thread whose call uses the workspace
  attention::Scratch queries;              ///< scaled queries, padded
  attention::Scratch sums;                 ///< l of each row, if the caller has no array for it
  attention::Scratch partial;     ///< softmax states of the parts that items of a call produce
  attention::Scratch extensions;  ///< what an append does to each sequence
  // One per thread each:
  std::vector<attention::Scratch> worker;  ///< what an item needs while it runs
  std::vector<attention::Scratch> item;    ///< what the stages of an item leave for each other
  std::vector<attention::Scratch> query;   ///< the queries of an item

  [[nodiscard]] core::Crew crew() const { return {threads, executor}; }
  /// Grows the scratch memory of every thread to that of the largest, so that it does not matter to
  /// which thread a call gives its largest item. Stops if memory is exhausted; a later call then
  /// allocates what it needs.
  void even_out() noexcept;
};

}  // namespace tamis

namespace tamis::attention {

/// Held by every call while it uses a Workspace; a call of another thread then throws `usage`.
/// Calls that a call makes on its own thread may nest.
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
