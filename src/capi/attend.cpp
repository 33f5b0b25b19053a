// C ABI: plans, and sparse attention with certificates.
#include <tamis/attend.h>

#include <algorithm>

#include "attention/workspace.h"
#include "capi/budget.h"
#include "capi/cache.h"
#include "capi/workspace.h"

struct tamis_plan {
  tamis::Plan plan;
};

namespace tamis::capi {
namespace {

constexpr std::size_t batch_size = 40;  // sizes of the structs in their first published versions
constexpr std::size_t queries_size = 40;
constexpr std::size_t options_size = 32;
constexpr std::size_t results_size = 64;
constexpr std::size_t certificate_size = 144;
static_assert(sizeof(tamis_batch) == batch_size && TAMIS_ENDS_WITH(tamis_batch, seen));
static_assert(sizeof(tamis_queries) == queries_size && TAMIS_ENDS_WITH(tamis_queries, head_stride));
static_assert(sizeof(tamis_attend_options) == options_size &&
              TAMIS_ENDS_WITH(tamis_attend_options, value_share));
static_assert(sizeof(tamis_results) == results_size &&
              TAMIS_ENDS_WITH(tamis_results, certificate_size));
static_assert(sizeof(tamis_certificate) == certificate_size &&
              TAMIS_ENDS_WITH(tamis_certificate, dense_bytes));
static_assert(static_cast<tamis_grade>(Grade::proved) == TAMIS_PROVED);
static_assert(static_cast<tamis_reached>(Reached::not_finite) == TAMIS_NOT_FINITE);
static_assert(static_cast<tamis_why_dense>(Dense::wide) == TAMIS_WIDE);
static_assert(static_cast<tamis_prefer>(Prefer::time) == TAMIS_PREFER_TIME);

Plan plan_of(const Cache& cache, const tamis_batch* from) {
  const tamis_batch c = read_struct(from, batch_size, "tamis_batch");
  const auto queries = array(c.queries, c.count, "the queries of a tamis_batch");
  Batch batch{array(c.sequences, c.count, "the sequences of a tamis_batch"), queries, {}};
  std::int64_t all = 0;
  for (const std::int64_t n : queries) {
    if (n < 0)
      core::fail(Code::usage, "a sequence of a tamis_batch has {} queries; it must have 0 or more",
                 n);
    all = extent({all, 1}, "the queries of a batch") + extent({n, 1}, "the queries of a batch");
  }
  extent({all, cache.heads().query_heads, cache.heads().value_dim, sizeof(float)},
         "the output of a batch");
  if (c.seen != nullptr) batch.seen = {c.seen, static_cast<std::size_t>(all)};
  return {cache, batch};
}

AttendOptions options_of(const tamis_attend_options* from) {
  AttendOptions options;
  if (from == nullptr) return options;
  const tamis_attend_options c = read_struct(from, options_size, "tamis_attend_options");
  if (c.prefer != TAMIS_PREFER_BYTES && c.prefer != TAMIS_PREFER_TIME)
    core::fail(Code::usage,
               "prefer is {}; it must be TAMIS_PREFER_BYTES ({}) or TAMIS_PREFER_TIME ({})",
               c.prefer, static_cast<int>(TAMIS_PREFER_BYTES), static_cast<int>(TAMIS_PREFER_TIME));
  options.prefer = static_cast<Prefer>(c.prefer);
  options.look = c.look;
  options.dense_below = c.dense_below;
  if (c.value_share != 0) options.value_share = c.value_share;
  return options;
}

QueryRows queries_of(const tamis_queries* from) {
  const tamis_queries c = read_struct(from, queries_size, "tamis_queries");
  check_reserved(c.reserved, "tamis_queries");
  return {c.data, dtype_of(c.dtype), c.query_stride, c.head_stride};
}

tamis_results results_of(const tamis_results* from) {
  const tamis_results c = read_struct(from, results_size, "tamis_results");
  check_reserved(c.reserved, "tamis_results");
  if (c.certificates != nullptr)
    check_size(c.certificate_size, certificate_size, "tamis_certificate");
  return c;
}

void read_budgets(const tamis_budget* from, std::size_t count, std::vector<Budget>& budgets) {
  budgets.clear();
  for (const tamis_budget& budget : array(from, count, "budgets"))
    budgets.push_back(budget_of(budget));
}

tamis_certificate to_c(const Certificate& from) {
  tamis_certificate c{};
  c.tau = from.tau;
  c.error = from.error;
  c.lse_error = from.lse_error;
  c.reached = static_cast<tamis_reached>(from.reached);
  c.dense = static_cast<tamis_why_dense>(from.dense);
  c.grade = static_cast<tamis_grade>(from.grade);
  c.raw_keys = from.raw_keys;
  std::ranges::copy(from.keys, c.keys);
  c.raw_values = from.raw_values;
  c.centre_values = from.centre_values;
  std::ranges::copy(from.values, c.values);
  c.bytes = from.bytes;
  c.dense_bytes = from.dense_bytes;
  return c;
}

/// Fills the caller's certificates, which may be longer than those of this library.
void write_certificates(const tamis_results& to, std::span<const Certificate> certificates) {
  auto* at = reinterpret_cast<unsigned char*>(to.certificates);
  for (const Certificate& certificate : certificates) {
    const tamis_certificate c = to_c(certificate);
    std::memcpy(at, &c, sizeof c);
    std::memset(at + sizeof c, 0, to.certificate_size - sizeof c);
    at += to.certificate_size;
  }
}

template <class Enum>
const char* words_of(std::int32_t given, Enum last, const char* type) {
  if (given < 0 || given > static_cast<std::int32_t>(last))
    core::fail(Code::usage, "{} {} is not one of 0 … {}", type, given,
               static_cast<std::int32_t>(last));
  return words_for(static_cast<Enum>(given));
}

}  // namespace
}  // namespace tamis::capi

using namespace tamis::capi;  // NOLINT(google-build-using-namespace): the functions below are
                              // outside it

tamis_code tamis_plan_create(const tamis_cache* cache, const tamis_batch* batch, tamis_plan** out) {
  return make(out, [&] {
    return std::make_unique<tamis_plan>(tamis_plan{plan_of(required(cache, "cache").cache, batch)});
  });
}

void tamis_plan_free(tamis_plan* plan) { delete plan; }

tamis_code tamis_plan_queries(const tamis_plan* plan, int64_t* queries) {
  return guarded([&] { required(queries, "queries") = required(plan, "plan").plan.queries(); });
}

tamis_code tamis_reached_words(tamis_reached reached, const char** words) {
  return guarded([&] {
    required(words, "words") = words_of(reached, tamis::Reached::not_finite, "the result");
  });
}

tamis_code tamis_dense_words(tamis_why_dense dense, const char** words) {
  return guarded([&] {
    required(words, "words") = words_of(dense, tamis::Dense::wide, "the reason for dense");
  });
}

tamis_code tamis_attend(const tamis_cache* cache, const tamis_plan* plan,
                        const tamis_queries* queries, const tamis_budget* budgets,
                        size_t budget_count, const tamis_attend_options* options,
                        tamis_workspace* workspace, const tamis_results* results) {
  return guarded([&] {
    const tamis::Cache& c = required(cache, "cache").cache;
    const tamis::Plan& p = required(plan, "plan").plan;
    tamis_workspace& w = required(workspace, "workspace");
    const tamis::attention::InUse use(w.workspace);
    const tamis_results to = results_of(results);
    const std::int64_t rows = p.queries() * c.heads().query_heads;
    const auto lse = required(to.lse, rows, "lse");
    read_budgets(budgets, budget_count, w.budgets);
    if (to.certificates != nullptr) w.certificates.resize(static_cast<std::size_t>(rows));
    const std::span<tamis::Certificate> certificates(
        w.certificates.data(), to.certificates == nullptr ? 0 : static_cast<std::size_t>(rows));
    tamis::attend(
        c, p, queries_of(queries), w.budgets, options_of(options), w.workspace,
        {{to.out, dtype_of(to.dtype), to.query_stride, to.head_stride}, lse, certificates});
    if (to.certificates != nullptr) write_certificates(to, certificates);
  });
}
