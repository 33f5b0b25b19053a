// Makes the profile of a trace, layer by layer: first the rows of the layer, then its heads. Holds
// one layer in memory at a time.
#include <tamis/lab/profile.h>

#include <algorithm>
#include <filesystem>

#include "attention/workspace.h"
#include "core/fail.h"
#include "core/parallel.h"
#include "lab/profile/head.h"
#include "lab/profile/row.h"

namespace tamis::lab {
namespace {

/// The number of logits of a layer, to which the time it takes is proportional.
double logits_of(const Trace& trace, const TraceLayer& layer) {
  double keys = 0;
  for (const std::int64_t n : trace.seen()) keys += static_cast<double>(n);
  return keys * static_cast<double>(layer.shape.query_heads);
}

void check_options(const ProfileOptions& options) {
  profiling::check_row_options(options.rows);
  if (options.rows.eps.empty())
    core::fail(Code::usage, "no eps was given; a profile needs at least one");
  for (std::size_t i = 0; i < options.rows.eps.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (options.rows.eps[i] == options.rows.eps[j])
        core::fail(Code::usage, "eps {} was given twice", options.rows.eps[i]);
  if (!(options.delta > 0 && options.delta < 1))
    core::fail(Code::usage, "delta is {}; it must lie between 0 and 1", options.delta);
  if (options.bins < 1 || options.bins > 1000)
    core::fail(Code::usage, "bins is {}; it must lie in 1 … 1000", options.bins);
}

/// ‖W‖_F of every query head, from the weights or as stored in the trace; empty if the
/// trace has neither.
std::vector<WeightNorm> norms_of(const Trace& trace, const TraceLayer& layer, int threads) {
  if (layer.has_weights)
    return weight_norms(trace.read_weights(layer), layer.shape, trace.rotary(), trace.tokens(),
                        threads, trace.causal() ? Offsets::causal : Offsets::all);
  std::vector<WeightNorm> norms;
  if (layer.has_weight_norms)
    for (const double norm : trace.read_weight_norms(layer))
      norms.push_back({norm, norm, norm, 0, 0});
  return norms;
}

/// Runs `body` and adds the file and the layer to the message of an `input` error.
template <class Body>
void in_layer(const Trace& trace, const TraceLayer& layer, const Body& body) try {
  body();
} catch (const Error& error) {
  if (error.code() != Code::input) throw;
  core::fail(Code::input, "{}: layer {}: {}", trace.path(), layer.layer, error.what());
}

}  // namespace

Profile profile(const Trace& trace, const ProfileOptions& options, Workspace& workspace,
                const ProgressCallback& progress, const RowsCallback& rows) {
  check_options(options);
  const std::vector<TraceLayer> layers = trace.layers(options.layers);
  double total = 0;
  for (const TraceLayer& layer : layers) total += logits_of(trace, layer);
  std::vector<GaussianNull> nulls;
  for (const double eps : options.rows.eps) nulls.emplace_back(eps);

  Profile result;
  result.trace = std::filesystem::path(trace.path()).filename().string();
  if (const auto model = trace.metadata().find("model"); model != trace.metadata().end())
    result.model = model->second;
  result.tokens = trace.tokens();
  result.queries = static_cast<std::int64_t>(trace.positions().size());
  result.causal = trace.causal();
  result.options = options;
  double done = 0;
  for (const TraceLayer& layer : layers) {
    const Shape& shape = layer.shape;
    RowFigures figures;
    const double work = logits_of(trace, layer);
    ProgressCallback part;
    if (progress)
      part = [&](double of_layer, double all) {
        return progress(done + work * of_layer / all, total);
      };
    {
      const LayerData data = trace.read(layer);
      const PageTables tables = data.pages();
      in_layer(trace, layer, [&] {
        figures = row_figures(shape, {data.q.data(), shape.rows(), shape.head_dim}, tables.heads(),
                              trace.seen(), options.rows, workspace, part);
      });
    }
    profiling::add_null(figures, nulls);
    if (rows) rows(layer, figures);
    std::vector<HeadProfile> heads(static_cast<std::size_t>(shape.query_heads));
    core::parallel_for(shape.query_heads, workspace.impl().crew(), [&](std::int64_t head, int) {
      heads[static_cast<std::size_t>(head)] =
          profiling::profile_head(figures, layer.layer, head, shape.queries, nulls, options);
    });
    in_layer(trace, layer, [&] {
      const std::vector<WeightNorm> norms = norms_of(trace, layer, workspace.threads());
      for (std::size_t h = 0; h < norms.size(); ++h)
        profiling::add_norm(heads[h], norms[h], layer.input_bound);
    });
    result.layers.push_back(
        {layer.layer, layer.input_bound, profiling::collapse_of(figures, options.bins)});
    std::ranges::move(heads, std::back_inserter(result.heads));
    done += work;
  }
  if (progress && !progress(total, total)) core::fail(Code::cancelled, "the profile was cancelled");
  return result;
}

}  // namespace tamis::lab
