// Chooses the target, once per process, by the CPU's features or by TAMIS_TARGET.
#ifdef TAMIS_X86
#include <cpuid.h>
#endif

#include <array>
#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/fail.h"
#include "kernels/kernels.h"

namespace tamis::kernels {
namespace {

#ifdef TAMIS_X86
/// __builtin_cpu_supports of Clang 14 does not know F16C.
bool has_f16c() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
}
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
bool has_vnni() { return has_avx512() && __builtin_cpu_supports("avx512vnni"); }
#endif

const auto& all_targets() {
  static const std::array all{
      KernelTarget{&scalar_kernels, true},
#ifdef TAMIS_X86
      KernelTarget{&avx2_kernels, has_avx2()},
      KernelTarget{&avx512_kernels, has_avx512()},
      KernelTarget{&avx512vnni_kernels, has_vnni()},
#endif
  };
  return all;
}

const Kernels& choose() {
  const char* wanted = std::getenv("TAMIS_TARGET");
  if (wanted == nullptr || *wanted == '\0') {
    const Kernels* best = &scalar_kernels;
    for (const KernelTarget& target : all_targets())
      if (target.runs_here) best = target.kernels;
    return *best;
  }
  std::string known;
  for (const KernelTarget& target : all_targets()) {
    if (wanted == std::string_view(target.kernels->name)) {
      if (!target.runs_here)
        core::fail(Code::usage, "TAMIS_TARGET={} needs instructions that this CPU does not have",
                   wanted);
      return *target.kernels;
    }
    known += known.empty() ? "" : ", ";
    known += target.kernels->name;
  }
  core::fail(Code::usage, "TAMIS_TARGET={} names no target; it may be one of {}", wanted, known);
}

std::atomic<const Kernels*> forced{nullptr};

}  // namespace

const KernelTarget* kernel_targets(int& count) {
  count = static_cast<int>(all_targets().size());
  return all_targets().data();
}

const Kernels& kernels() {
  if (const Kernels* all = forced.load(std::memory_order_relaxed); all != nullptr) return *all;
  static const Kernels& chosen = choose();
  return chosen;
}

void force_kernels(const Kernels* kernels) { forced = kernels; }

}  // namespace tamis::kernels
