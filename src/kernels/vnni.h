// The dots of the sieve's scan with VNNI. AVX-512's file makes a table of its own kernels and these.
#pragma once

#include <cstdint>

namespace tamis {

void vnni_coarse_dots(const std::uint8_t* high, std::int64_t d32, const std::int16_t* xi, int rows,
                      float* dot, const std::uint8_t* next_high);
void vnni_middle_dots(const std::uint8_t* high, const std::uint8_t* low, std::int64_t d32,
                      const std::int16_t* xi, int rows, float* dot, const std::uint8_t* next_high,
                      const std::uint8_t* next_low);

}  // namespace tamis
