#include "uses.h"

#include <string>

#include <tamis/error.h>

namespace tamis::python {

Uses::Hold::Hold(Uses& uses, std::span<const Sequence> reads, std::span<const Sequence> changes)
    : uses_(uses) {
  const std::lock_guard lock(uses_.mutex_);
  taken_.reserve(reads.size() + changes.size());
  try {
    for (const Sequence sequence : reads) take(sequence, false);
    for (const Sequence sequence : changes) take(sequence, true);
  } catch (...) {
    give_back();
    throw;
  }
}

Uses::Hold::~Hold() {
  const std::lock_guard lock(uses_.mutex_);
  give_back();
}

void Uses::Hold::take(Sequence sequence, bool changes) {
  Use& use = uses_.uses_[sequence];
  // A call may name a sequence twice; whether it should, the library decides.
  const bool by_others = use.calls > 0 && use.changed_by != this;
  if (by_others && (changes || use.changed_by != nullptr))
    throw Error(Code::usage,
                "another thread uses sequence " + std::to_string(sequence) +
                    ", and one of the two calls changes it; let one end before the other begins");
  ++use.calls;
  if (changes) use.changed_by = this;
  taken_.push_back(sequence);
}

void Uses::Hold::give_back() {
  for (const Sequence sequence : taken_) {
    const auto found = uses_.uses_.find(sequence);
    if (--found->second.calls == 0) uses_.uses_.erase(found);
  }
}

}  // namespace tamis::python
