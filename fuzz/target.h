// What every fuzz target is: one parser on bytes in memory. It may fail in one way only, by
// throwing tamis::Error; anything else, a sanitizer's report above all, is a bug.
#pragma once

#include <cstddef>
#include <span>

/// Defined by the target, called by entry.cpp under libFuzzer and by replay.cpp otherwise.
void fuzz_one(std::span<const std::byte> bytes);
