// An independent check of refutations of dimension 1, which only looks up entries of the rows.
#pragma once

#include <string>

#include <tamis/lab/pattern.h>
#include <tamis/lab/refutation.h>

namespace tamis::test {

/// Empty if the refutation proves that no witness of one column exists (with its hidden size, if
/// it has one). Otherwise says what is wrong with it.
std::string flaw_of(const lab::Pattern& pattern, const lab::Refutation& refutation);

}  // namespace tamis::test
