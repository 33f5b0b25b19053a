// The interface of a fuzz target, which runs one parser on bytes in memory. The only failure
// allowed is a tamis::Error exception. Anything else, such as a sanitizer's report, is a bug.
#pragma once

#include <cstddef>
#include <span>

/// Defined by the target, called by entry.cpp under libFuzzer and by replay.cpp otherwise.
void fuzz_one(std::span<const std::byte> bytes);
