// Reads a whole profile and compares it with itself. Writing it, reading that text and writing it
// again must give the same text.
#include "lab/profile/profile_file.h"
#include "target.h"

void fuzz_one(std::span<const std::byte> bytes) {
  const tamis::lab::Profile profile =
      tamis::lab::profiling::parse_profile(*tamis::core::memory_source("input", bytes));
  (void)tamis::lab::compare_profiles(profile, profile);
  const std::string text = tamis::lab::profile_text(profile);
  const auto again = tamis::lab::profiling::parse_profile(
      *tamis::core::memory_source("text", std::as_bytes(std::span(text))));
  if (tamis::lab::profile_text(again) != text) __builtin_trap();
}
