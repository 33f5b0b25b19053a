// Attention over a cache. Queries and outputs have the axes query, head, channel, with channels
// side by side; log-sum-exps and certificates the axes query, head, without gaps.
#include <tamis/attend.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <tamis/error.h>

#include "../arrays.h"
#include "../module.h"
#include "cache.h"
#include "workspaces.h"

namespace tamis::python {
namespace {

namespace nb = nanobind;
using Whole = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig>;
using Floats = nb::ndarray<float, nb::ndim<1>, nb::c_contig>;
using Bytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig>;

void check_shape(const char* name, std::size_t heads, std::size_t dim, std::int64_t right_heads,
                 std::int64_t right_dim) {
  if (static_cast<std::int64_t>(heads) != right_heads ||
      static_cast<std::int64_t>(dim) != right_dim)
    throw Error(Code::usage, std::string(name) + " has " + std::to_string(heads) +
                                 " heads of size " + std::to_string(dim) + "; it must have " +
                                 std::to_string(right_heads) + " of size " +
                                 std::to_string(right_dim));
}

void attend_over(const BoundCache& self, const std::vector<Sequence>& sequences,
                 const std::vector<std::int64_t>& queries, const std::optional<Whole>& seen,
                 const std::vector<std::string>& budgets, bool prefer_time, int look,
                 std::int64_t dense_below, double value_share, const ArrayIn& q, bool q_bf16,
                 const ArrayOut& out, bool out_bf16, const Floats& lse,
                 const std::optional<Bytes>& certificates) {
  const Heads& heads = self.cache.heads();
  check_shape("q", q.shape(1), q.shape(2), heads.query_heads, heads.key_dim);
  check_shape("out", out.shape(1), out.shape(2), heads.query_heads, heads.value_dim);
  const QueryRows query_rows{data_of(q), dtype_of(q, q_bf16, "q"), q.stride(0), q.stride(1)};
  const ArrayIn written(out);
  const OutputRows output_rows{out.data(), dtype_of(written, out_bf16, "out"), out.stride(0),
                               out.stride(1)};
  Results results{output_rows, {lse.data(), lse.shape(0)}, {}};
  if (certificates)
    results.certificates = {reinterpret_cast<Certificate*>(certificates->data()),
                            certificates->shape(0) / sizeof(Certificate)};
  Batch batch{sequences, queries, {}};
  if (seen) batch.seen = {seen->data(), seen->shape(0)};
  AttendOptions options;
  options.prefer = prefer_time ? Prefer::time : Prefer::bytes;
  options.look = look;
  options.dense_below = dense_below;
  options.value_share = value_share;

  const nb::gil_scoped_release released;
  std::vector<Budget> parsed;
  parsed.reserve(budgets.size());
  for (const std::string& budget : budgets) parsed.push_back(parse_budget(budget));
  const Uses::Hold hold(self.uses, sequences, {});
  const Plan plan(self.cache, batch);
  if (plan.queries() != static_cast<std::int64_t>(q.shape(0)))
    throw Error(Code::usage, "q has " + std::to_string(q.shape(0)) +
                                 " queries; the sequences of the call have " +
                                 std::to_string(plan.queries()));
  const BorrowedWorkspace workspace(self.threads);
  attend(self.cache, plan, query_rows, parsed, options, workspace.get(), results);
}

/// Where NumPy finds the members of a Certificate: {name: (type, offset)}, and its size.
nb::typed<nb::tuple, nb::typed<nb::dict, nb::str, nb::typed<nb::tuple, nb::str, int>>, int>
certificate_layout() {
  nb::dict fields;
  const auto add = [&fields](const char* name, const char* type, std::size_t offset) {
    fields[name] = nb::make_tuple(type, offset);
  };
  static_assert(sizeof(Reached) == 1 && sizeof(Dense) == 1 && sizeof(Grade) == 1);
  add("tau", "f8", offsetof(Certificate, tau));
  add("error", "f8", offsetof(Certificate, error));
  add("lse_error", "f8", offsetof(Certificate, lse_error));
  add("reached", "u1", offsetof(Certificate, reached));
  add("dense", "u1", offsetof(Certificate, dense));
  add("grade", "u1", offsetof(Certificate, grade));
  add("raw_keys", "i8", offsetof(Certificate, raw_keys));
  add("keys", "4i8", offsetof(Certificate, keys));
  add("raw_values", "i8", offsetof(Certificate, raw_values));
  add("centre_values", "i8", offsetof(Certificate, centre_values));
  add("values", "4i8", offsetof(Certificate, values));
  add("bytes", "i8", offsetof(Certificate, bytes));
  add("dense_bytes", "i8", offsetof(Certificate, dense_bytes));
  return nb::make_tuple(fields, sizeof(Certificate));
}

/// The words for each value of an enumeration whose last value is `last`.
template <class Enum>
std::vector<std::string> all_words(Enum last) {
  std::vector<std::string> words;
  for (int value = 0; value <= static_cast<int>(last); ++value)
    words.emplace_back(words_for(static_cast<Enum>(value)));
  return words;
}

}  // namespace

void declare_attend(nb::module_& module) {
  using nb::arg;
  module.def("attend", &attend_over, arg("cache"), arg("sequences"), arg("queries"),
             arg("seen").none(), arg("budgets"), arg("prefer_time"), arg("look"),
             arg("dense_below"), arg("value_share"), arg("q"), arg("q_bf16"), arg("out"),
             arg("out_bf16"), arg("lse"), arg("certificates").none(),
             "Attention over a cache, written into out, lse and certificates.");
  module.def("certificate_layout", &certificate_layout);
  module.def("reached_words", [] { return all_words(Reached::not_finite); });
  module.def("dense_words", [] { return all_words(Dense::wide); });
  module.def(
      "parse_budget", [](const std::string& text) { return to_string(parse_budget(text)); },
      arg("text"));
}

}  // namespace tamis::python
