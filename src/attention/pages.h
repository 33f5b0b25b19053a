// A page of keys and values in any memory.
#pragma once

#include <cstdint>

namespace tamis::attention {

struct Page {
  const void* k;
  const void* v;
  std::int64_t k_stride;  ///< elements from one key to the next
  std::int64_t v_stride;
  std::int64_t keys;  ///< at most 128
};

}  // namespace tamis::attention
