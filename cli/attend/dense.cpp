#include "attend/dense.h"

#include <chrono>
#include <span>

#include "attend/blocks.h"
#include "terminal/duration.h"
#include "terminal/interrupt.h"

namespace tamis::cli {
namespace {

/// This gives full tiles on every core, and only seconds between two checks for Ctrl-C.
constexpr std::int64_t rows_per_call = 8192;

/// Every key and value was read, so the certificates bound rounding alone.
std::vector<Certificate> certify(const lab::Trace& trace, const Shape& shape,
                                 const std::vector<Rounding>& roundings) {
  std::vector<Certificate> certificates(roundings.size());
  for (std::size_t row = 0; row < roundings.size(); ++row) {
    Certificate& certificate = certificates[row];
    certificate.tau = roundings[row].tau;
    certificate.error = roundings[row].error;
    certificate.lse_error = roundings[row].lse;
    const std::int64_t keys = trace.seen()[row % static_cast<std::size_t>(shape.queries)];
    certificate.raw_keys = certificate.raw_values = keys;
    certificate.bytes = certificate.dense_bytes = keys * token_bytes(shape);
  }
  return certificates;
}

}  // namespace

LayerResult dense_layer(const lab::Trace& trace, const lab::TraceLayer& layer,
                        const lab::LayerData& data, Workspace& workspace, Progress& progress) {
  using Clock = std::chrono::steady_clock;
  const Shape& shape = layer.shape;
  LayerResult result;
  result.layer = layer;
  result.out.resize(static_cast<std::size_t>(shape.rows() * shape.value_dim));
  result.lse.resize(static_cast<std::size_t>(shape.rows()));
  const PageTables pages = data.pages();
  const View<const float> q(data.q.data(), shape.rows(), shape.head_dim);
  const View<float> out(result.out.data(), shape.rows(), shape.value_dim);
  progress.enter(attention_stage);
  for (const Block& block : blocks_of(shape, rows_per_call)) {
    stop_if_interrupted();
    const std::int64_t rows = block.shape.rows();
    const auto begin = Clock::now();
    dense(block.shape, q.middle_rows(block.row, rows), block.kv(pages.heads()),
          block.seen(trace.seen()), workspace, out.middle_rows(block.row, rows),
          std::span(result.lse)
              .subspan(static_cast<std::size_t>(block.row), static_cast<std::size_t>(rows)));
    result.seconds += seconds_since(begin);
    progress.advance(pairs_of(trace, layer) * static_cast<double>(rows) /
                     static_cast<double>(shape.rows()));
  }
  std::vector<Rounding> roundings(static_cast<std::size_t>(shape.rows()));
  dense_rounding(shape, q, pages.heads(), trace.seen(), roundings);
  result.certificates = certify(trace, shape, roundings);
  return result;
}

}  // namespace tamis::cli
