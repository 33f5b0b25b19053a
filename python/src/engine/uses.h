// Which sequences of a cache are in use by calls. The library leaves it to its caller that no call
// changes a sequence beside another call on it. From Python that must be an error, not a crash.
#pragma once

#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include <tamis/cache.h>

namespace tamis::python {

class Uses {
 public:
  /// Holds sequences for one call. Throws `usage` if another call changes one of them, or uses one
  /// that this call changes.
  class Hold {
   public:
    Hold(Uses& uses, std::span<const Sequence> reads, std::span<const Sequence> changes);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    void take(Sequence sequence, bool changes);
    void give_back();

    Uses& uses_;
    std::vector<Sequence> taken_;
  };

 private:
  struct Use {
    int calls = 0;
    const Hold* changed_by = nullptr;  ///< null if all calls only read
  };
  std::mutex mutex_;
  std::unordered_map<Sequence, Use> uses_;
};

}  // namespace tamis::python
