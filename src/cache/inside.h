// The implementation of a Cache: its sequences by name, and the memory that they share.
#pragma once

#include <atomic>
#include <memory>
#include <new>
#include <shared_mutex>
#include <unordered_map>

#include <tamis/cache.h>

#include "cache/contents.h"
#include "cache/store.h"
#include "core/fail.h"

namespace tamis {

/// `mutex` guards the map. The contents of a sequence stay at the same address and need no lock:
/// only calls on that sequence use them, and a call that changes them excludes the others.
struct Cache::Impl {
  Impl(const Heads& its_heads, const CacheOptions& its_options)
      : heads(its_heads), options(its_options), store(its_heads, its_options) {}

  /// Throws `usage` if the sequence does not exist.
  [[nodiscard]] cache::Contents& find(Sequence sequence) const;
  /// Throws `usage` if the sequence exists, as check_absent() does.
  void insert(Sequence sequence, std::unique_ptr<cache::Contents> contents);
  void check_absent(Sequence sequence) const;

  Heads heads;
  CacheOptions options;
  cache::Store store;
  std::atomic<std::uint64_t> calls{0};  ///< number of calls of append
  mutable std::shared_mutex mutex;
  std::unordered_map<Sequence, std::unique_ptr<cache::Contents>> sequences;
};

namespace cache {

/// Returns what `work` returns. Turns std::bad_alloc into an Error of code `internal`.
template <class Work>
auto with_memory(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    core::fail(Code::internal,
               "there is no memory for the lists that the cache keeps beside its pages");
  }
}

}  // namespace cache
}  // namespace tamis
