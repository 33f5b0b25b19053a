// Refutations of dimension 1, checked from the rows by looking up entries, and by nothing else.
#pragma once

#include <string>

#include <tamis/lab/pattern.h>
#include <tamis/lab/refutation.h>

namespace tamis::test {

/// Empty if the refutation proves that no witness of one column exists (for its hidden size, where
/// it has one); otherwise what is wrong with it.
std::string flaw_of(const lab::Pattern& pattern, const lab::Refutation& refutation);

}  // namespace tamis::test
