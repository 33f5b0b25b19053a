// Reads a whole profile, compares it with itself, and writes what was read.
#include "profile/profile_file.h"
#include "target.h"

void fuzz_one(std::span<const std::byte> bytes) {
  const tamis::Profile profile = tamis::parse_profile(*tamis::memory_source("input", bytes));
  (void)tamis::compare_profiles(profile, profile);
  const std::string text = tamis::profile_text(profile);
  const auto again = tamis::parse_profile(*tamis::memory_source("text", std::as_bytes(std::span(text))));
  if (tamis::profile_text(again) != text) __builtin_trap();
}
