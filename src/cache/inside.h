// The inside of a Cache: the sequences by name, and what they share.
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

/// The map is guarded; what a sequence holds stays where it is in memory, and only calls on that
/// sequence, which exclude each other, look at it.
struct Cache::Impl {
  Impl(const Heads& its_heads, const CacheOptions& its_options)
      : heads(its_heads), options(its_options), store(its_heads, its_options) {}

  /// Throws `usage` if there is no such sequence.
  [[nodiscard]] cache::Contents& find(Sequence sequence) const;
  /// Throws `usage` if there is one of this name.
  void insert(Sequence sequence, std::unique_ptr<cache::Contents> contents);
  void check_absent(Sequence sequence) const;

  Heads heads;
  CacheOptions options;
  cache::Store store;
  std::atomic<std::uint64_t> calls{0};  ///< of append
  mutable std::shared_mutex mutex;
  std::unordered_map<Sequence, std::unique_ptr<cache::Contents>> sequences;
};

namespace cache {

/// What `work` returns; the program's exhausted memory becomes an Error.
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
