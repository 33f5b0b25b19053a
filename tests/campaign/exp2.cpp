// Computes exp2 of every float from −126 to 0 on every target of this machine, about 1.1·10⁹
// values each. Prints the largest relative error and fails if it exceeds the constant used
// by the bounds.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "campaign/campaign.h"
#include "core/parallel.h"
#include "kernels/kernels.h"

namespace tamis::test {

bool check_exp2(const CampaignOptions& /*options*/) {
  constexpr std::int64_t chunk = 1 << 16;
  const std::int64_t values = std::bit_cast<std::uint32_t>(126.0F) + 1;  // magnitudes 0 … 126
  int count = 0;
  const kernels::KernelTarget* targets = kernels::kernel_targets(count);
  bool good = true;
  for (int t = 0; t < count; ++t) {
    const kernels::Kernels& kernels = *targets[t].kernels;
    if (!targets[t].runs_here) {
      fmt::print("exp2 {}: not run, this CPU lacks it\n", kernels.name);
      continue;
    }
    const std::int64_t chunks = (values + chunk - 1) / chunk;
    std::vector<double> worst(static_cast<std::size_t>(chunks));
    core::parallel_for(chunks, core::hardware_thread_count(), [&](std::int64_t item, int) {
      std::vector<float> y;
      const std::int64_t first = item * chunk;
      const std::int64_t last = std::min(values, first + chunk);
      for (std::int64_t bits = first; bits < last; ++bits)
        y.push_back(-std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
      const std::vector<float> x = y;
      kernels.exp2(y.data(), static_cast<std::int64_t>(y.size()));
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double exact = std::exp2(static_cast<double>(x[i]));
        double& largest = worst[static_cast<std::size_t>(item)];
        largest = std::max(largest, std::abs(y[i] - exact) / exact);
      }
    });
    const double largest = *std::max_element(worst.begin(), worst.end());
    const bool holds = largest <= kernels::exp2_relative_error;
    good = good && holds;
    fmt::print(
        "exp2 {}: {} floats, largest relative error {:.4g} = {:.3f}·2^-24, bound {:.4g}: {}\n",
        kernels.name, values, largest, largest * 0x1p24, kernels::exp2_relative_error,
        holds ? "holds" : "VIOLATED");
  }
  return good;
}

}  // namespace tamis::test
