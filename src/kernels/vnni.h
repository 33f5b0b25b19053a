// Dot products of the sieve with VNNI. avx512.cpp makes a table of its own kernels and these.
#pragma once

#include <cstdint>

#include "kernels/sieve.h"

namespace tamis::kernels {

void vnni_dots_of_plane(const std::uint8_t* high, std::int64_t d32, const std::int16_t* xi,
                        int rows, float* dot, const std::uint8_t* next_high);
void vnni_dots_of_planes(const std::uint8_t* high, const std::uint8_t* low, std::int64_t d32,
                         const std::int16_t* xi, int rows, float* dot,
                         const std::uint8_t* next_high, const std::uint8_t* next_low);

/// Writes up to three dots beyond the last; rows of 128 have room for them.
void vnni_dot_listed(const Listed& listed, std::int64_t stride, std::int64_t d32,
                     const std::int16_t* xi, int rows, std::int32_t* dot);

}  // namespace tamis::kernels
