// The frontier: the smallest norm product found at each of a few dimensions. Costs one `realise`
// for each.
#include <algorithm>
#include <functional>
#include <optional>

#include <tamis/lab/realise.h>

#include "core/fail.h"
#include "lab/realise/column_kinds.h"

namespace tamis::lab {
namespace {

/// Those of 2, 3, 4, 6, 8, 12, … 64 that are below `columns`; 1 if there are none.
std::vector<std::int64_t> usual_dims(std::int64_t columns) {
  std::vector<std::int64_t> dims;
  for (std::int64_t dim = 2; dim <= 64; dim *= 2) {
    dims.push_back(dim);
    if (dim < 64) dims.push_back(dim + dim / 2);
  }
  std::erase_if(dims, [&](std::int64_t dim) { return dim >= columns; });
  if (dims.empty()) dims.push_back(1);
  return dims;
}

}  // namespace

Frontier frontier(const Pattern& pattern, const FrontierOptions& options,
                  const ProgressCallback& progress) {
  Frontier result;
  result.lower_bound = norm_lower_bound(pattern, options.conditions);
  result.paper = paper_norm(pattern, options.conditions);
  result.paper_bound = paper_bound(pattern, options.conditions);
  result.sharper_bound = sharper_bound(pattern, options.conditions);
  const std::vector<std::int64_t> dims =
      options.dims.empty() ? usual_dims(pattern.cols) : options.dims;
  if (std::adjacent_find(dims.begin(), dims.end(), std::greater_equal<>()) != dims.end() ||
      dims.front() < 1)
    core::fail(Code::usage, "dimensions of a frontier must ascend and be at least 1");
  std::optional<realisation::ColumnKinds> kinds;
  if (pattern.rows != pattern.cols)
    kinds = realisation::column_kinds(pattern, options.conditions.weak);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    RealiseOptions wanted;
    wanted.conditions = options.conditions;
    wanted.dim = dims[i];
    wanted.steps = options.steps;
    wanted.seed = options.seed;
    wanted.threads = options.threads;
    const ProgressCallback part = [&](double done, double total) {
      return !progress ||
             progress(static_cast<double>(i) + done / total, static_cast<double>(dims.size()));
    };
    const Realisation found =
        realisation::realise_kinds(pattern, kinds ? kinds->pattern : pattern, wanted, part);
    Attempt point;
    point.method = found.method;
    point.dim = dims[i];
    point.verified = found.witness.has_value();
    point.seconds = found.seconds;
    if (found.witness) {
      point.norm_product = found.verification.norm_product;
      point.max_logit = found.verification.max_logit;
    } else if (!found.attempts.empty()) {
      point.why = found.attempts.back().why;
    }
    result.points.push_back(std::move(point));
  }
  return result;
}

}  // namespace tamis::lab
