// Conditions and verifications, which realise, decide and frontier use too.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <tuple>

#include <tamis/lab/verify.h>

namespace tamis::python {

/// (ε₁, ε₂, causal, weak), as Python passes conditions.
using ConditionsTuple = std::tuple<double, double, bool, bool>;
lab::Conditions conditions_of(const ConditionsTuple& conditions);

/// {f32, f64, exact, norm_product, max_logit}.
nanobind::typed<nanobind::dict, nanobind::str, nanobind::any> verification_dict(
    const lab::Verification& verification);

/// A handle of the witness, or None.
nanobind::object witness_or_none(std::optional<lab::Witness> witness);

}  // namespace tamis::python
