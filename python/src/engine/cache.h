// A cache as Python holds it.
#pragma once

#include <tamis/cache.h>

#include "uses.h"

namespace tamis::python {

struct BoundCache {
  Cache cache;
  int threads;  ///< of calls on this cache; 0 means all cores
  mutable Uses uses;

  BoundCache(const Heads& heads, const CacheOptions& options, int its_threads)
      : cache(heads, options), threads(its_threads) {}
};

}  // namespace tamis::python
