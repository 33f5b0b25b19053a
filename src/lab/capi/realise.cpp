// C ABI: functions that verify witnesses and find them.
#include <tamis/lab/realise.h>

#include "lab/capi/pattern.h"
#include "lab/capi/witness.h"

namespace tamis::lab::capi {
namespace {

constexpr std::size_t verification_size = 120;  // of the first published versions
constexpr std::size_t options_size = 64;
constexpr std::size_t realisation_size = 48;
static_assert(sizeof(tamis_verification) == verification_size &&
              TAMIS_ENDS_WITH(tamis_verification, max_logit));
static_assert(sizeof(tamis_realise_options) == options_size &&
              TAMIS_ENDS_WITH(tamis_realise_options, threads));
static_assert(sizeof(tamis_realisation) == realisation_size &&
              TAMIS_ENDS_WITH(tamis_realisation, reserved));
static_assert(static_cast<tamis_method>(Method::automatic) == TAMIS_AUTO &&
              static_cast<tamis_method>(Method::jl) == TAMIS_JL &&
              static_cast<tamis_method>(Method::moment) == TAMIS_MOMENT &&
              static_cast<tamis_method>(Method::descent) == TAMIS_DESCENT);

int threads_of(int threads) {
  if (threads < 0) core::fail(Code::usage, "threads is {}; it must not be negative", threads);
  return threads;
}

ProgressCallback callback_of(tamis_progress progress, void* context) {
  if (progress == nullptr) return {};
  return [=](double done, double total) { return progress(context, done, total) != 0; };
}

tamis_checked to_c(const Checked& from) {
  return {from.margin, from.worst_row, from.failing_rows, from.holds ? 1 : 0, 0};
}

void write(tamis_verification* to, const Verification& from) {
  tamis::capi::write_struct(to,
                            {sizeof *to, to_c(from[Arithmetic::f32]), to_c(from[Arithmetic::f64]),
                             to_c(from[Arithmetic::exact]), from.norm_product, from.max_logit},
                            verification_size, "tamis_verification");
}

/// The option, or nothing if it is 0, which means unspecified.
template <class T>
std::optional<T> unless_zero(T value) {
  return value == 0 ? std::nullopt : std::optional(value);
}

RealiseOptions options_of(const tamis_realise_options* from) {
  RealiseOptions options;
  if (from == nullptr) return options;
  const tamis_realise_options c =
      tamis::capi::read_struct(from, options_size, "tamis_realise_options");
  if (c.method < TAMIS_AUTO || c.method > TAMIS_DESCENT)
    core::fail(Code::usage, "method {} is not one of TAMIS_AUTO ({}) … TAMIS_DESCENT ({})",
               c.method, static_cast<int>(TAMIS_AUTO), static_cast<int>(TAMIS_DESCENT));
  options.method = static_cast<Method>(c.method);
  options.dim = unless_zero(c.dim);
  options.max_norm = unless_zero(c.max_norm);
  options.hidden = unless_zero(c.hidden);
  options.redraws = c.redraws;
  options.steps = c.steps;
  options.seed = c.seed;
  options.threads = threads_of(c.threads);
  return options;
}

/// Checks before the work that the result can be written to `out`, unless that is null.
template <class Struct>
void check_output(const Struct* out, std::size_t first_version, const char* type) {
  if (out != nullptr) tamis::capi::check_size(out->size, first_version, type);
}

}  // namespace
}  // namespace tamis::lab::capi

using namespace tamis::capi;       // NOLINT(google-build-using-namespace): for the functions below
using namespace tamis::lab::capi;  // NOLINT(google-build-using-namespace)

tamis_code tamis_verify(const tamis_pattern* pattern, const tamis_witness* witness,
                        const tamis_conditions* conditions, int threads, tamis_progress progress,
                        void* context, tamis_verification* out) {
  return guarded([&] {
    const tamis::lab::Pattern& p = required(pattern, "pattern").pattern;
    const tamis::lab::Witness& w = required(witness, "witness").witness;
    check_output(&required(out, "out"), verification_size, "tamis_verification");
    write(out, tamis::lab::verify(p, w, conditions_of(conditions), threads_of(threads),
                                  callback_of(progress, context)));
  });
}

tamis_code tamis_realise(const tamis_pattern* pattern, const tamis_conditions* conditions,
                         const tamis_realise_options* options, tamis_progress progress,
                         void* context, tamis_witness** witness, tamis_realisation* result,
                         tamis_verification* verification) {
  return guarded([&] {
    required(witness, "witness") = nullptr;
    const tamis::lab::Pattern& p = required(pattern, "pattern").pattern;
    check_output(result, realisation_size, "tamis_realisation");
    check_output(verification, verification_size, "tamis_verification");
    tamis::lab::RealiseOptions wanted = options_of(options);
    wanted.conditions = conditions_of(conditions);
    tamis::lab::Realisation found = tamis::lab::realise(p, wanted, callback_of(progress, context));
    if (result != nullptr) {
      tamis_realisation c{sizeof *result,
                          found.seconds,
                          std::ssize(found.attempts),
                          found.redraws,
                          0,
                          TAMIS_AUTO,
                          0};
      if (found.witness) {
        c.dim = found.dim;
        c.method = static_cast<tamis_method>(found.method);
      }
      write_struct(result, c, realisation_size, "tamis_realisation");
    }
    if (verification != nullptr) {
      if (found.witness) {
        write(verification, found.verification);
      } else {
        write_struct(verification, {}, verification_size, "tamis_verification");
      }
    }
    if (found.witness)
      *witness =
          std::make_unique<tamis_witness>(tamis_witness{std::move(*found.witness)}).release();
  });
}

tamis_code tamis_norm_bounds(const tamis_pattern* pattern, const tamis_conditions* conditions,
                             double* paper, double* lower) {
  return guarded([&] {
    const tamis::lab::Pattern& p = required(pattern, "pattern").pattern;
    const tamis::lab::Conditions c = conditions_of(conditions);
    tamis::lab::check_conditions(c);
    if (paper != nullptr) *paper = tamis::lab::paper_norm(p, c);
    if (lower != nullptr) *lower = tamis::lab::norm_lower_bound(p, c);
  });
}
