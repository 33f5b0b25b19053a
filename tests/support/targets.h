// Runs a check on every SIMD target, emulated where the CPU lacks it and emulation exists. Targets
// that cannot run are reported as not run.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "kernels/kernels.h"
#include "lab/kernels/kernels.h"

#ifdef TAMIS_X86
namespace tamis::kernels {
extern const Kernels avx512_emulated_kernels;  // tests/emulate: lane by lane, on AVX2
extern const Kernels avx512vnni_emulated_kernels;
}  // namespace tamis::kernels
namespace tamis::lab::kernels {
extern const LabKernels lab_avx512_emulated_kernels;
}  // namespace tamis::lab::kernels
#endif

namespace tamis::test {

/// The kernels that can run here for a target, emulated if need be, or null.
inline const kernels::Kernels* runnable(const kernels::KernelTarget& target) {
  if (target.runs_here) return target.kernels;
#ifdef TAMIS_X86
  bool has_avx2 = false;
  int count = 0;
  const kernels::KernelTarget* targets = kernels::kernel_targets(count);
  for (int i = 0; i < count; ++i)
    if (targets[i].kernels == &kernels::avx2_kernels) has_avx2 = targets[i].runs_here;
  if (target.kernels == &kernels::avx512_kernels && has_avx2)
    return &kernels::avx512_emulated_kernels;
  if (target.kernels == &kernels::avx512vnni_kernels && has_avx2)
    return &kernels::avx512vnni_emulated_kernels;
#endif
  return nullptr;
}

/// Makes all threads use these kernels, and the matching kernels of the lab. Null restores
/// the automatic choice.
inline void force(const kernels::Kernels* table) {
  kernels::force_kernels(table);
#ifdef TAMIS_X86
  const bool emulated =
      table == &kernels::avx512_emulated_kernels || table == &kernels::avx512vnni_emulated_kernels;
  lab::kernels::force_lab_kernels(emulated ? &lab::kernels::lab_avx512_emulated_kernels : nullptr);
#endif
}

/// Calls body(item) for each item in 0 … items − 1 on new threads, with these kernels in force.
template <class Body>
void for_each_item(const kernels::Kernels& kernels, std::int64_t items, int threads, Body body) {
  std::atomic<std::int64_t> next{0};
  std::vector<std::jthread> team;
  for (int t = 0; t < threads; ++t)
    team.emplace_back([&] {
      force(&kernels);
      for (std::int64_t item = next++; item < items; item = next++) body(item);
    });
}

inline bool targets_reported = false;

/// Calls check(name) with each target in force. The first call prints which targets are emulated
/// or not run.
template <class Check>
void for_each_target(Check check) {
  int count = 0;
  const kernels::KernelTarget* targets = kernels::kernel_targets(count);
  for (int i = 0; i < count; ++i) {
    const char* name = targets[i].kernels->name;
    const kernels::Kernels* table = runnable(targets[i]);
    if (!targets[i].runs_here && !targets_reported)
      std::printf("[ %s ] target %s: this CPU lacks it\n",
                  table == nullptr ? "NOT RUN " : "EMULATED", name);
    if (table == nullptr) continue;
    force(table);
    check(name);
    force(nullptr);
  }
  targets_reported = true;
}

}  // namespace tamis::test
