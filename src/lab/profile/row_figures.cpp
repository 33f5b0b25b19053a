// The table of row figures: its allocation, references to one row of it, and the
// validation of options.
#include <algorithm>
#include <cmath>

#include "core/fail.h"
#include "lab/profile/row.h"

namespace tamis::lab::profiling {

void check_row_options(const RowOptions& options) {
  for (const double eps : options.eps)
    if (!(eps > 0 && eps < 1))
      core::fail(Code::usage, "eps is {}; it must lie between 0 and 1", eps);
  if (options.sinks < 0)
    core::fail(Code::usage, "sinks is {}; it must be 0 or more", options.sinks);
  for (const std::int64_t w : options.windows)
    if (w < 1) core::fail(Code::usage, "a window has {} tokens; it must have 1 or more", w);
}

RowFigures empty_figures(std::int64_t rows, const RowOptions& options, std::int64_t longest) {
  RowFigures figures;
  figures.rows = rows;
  figures.eps = options.eps;
  figures.sinks = options.sinks;
  figures.windows = options.windows;
  figures.grid = mass_grid(longest);
  const auto count = static_cast<std::size_t>(rows);
  figures.n.resize(count);
  figures.k_eps.resize(count * figures.eps.size());
  figures.w_eps.resize(count * figures.eps.size());
  figures.curve.resize(count * figures.grid.size());
  figures.top1.resize(count);
  figures.entropy.resize(count);
  figures.sink.resize(count);
  figures.window.resize(count * figures.windows.size());
  figures.mean.resize(count);
  figures.sigma.resize(count);
  return figures;
}

RowResult result_of(RowFigures& figures, std::int64_t r) {
  const auto i = static_cast<std::size_t>(r);
  const auto part = [&](auto& all, std::size_t each) {
    return std::span(all).subspan(i * each, each);
  };
  return {figures.n[i],
          part(figures.k_eps, figures.eps.size()),
          part(figures.w_eps, figures.eps.size()),
          part(figures.curve, figures.grid.size()),
          figures.top1[i],
          figures.entropy[i],
          figures.sink[i],
          part(figures.window, figures.windows.size()),
          figures.mean[i],
          figures.sigma[i]};
}

}  // namespace tamis::lab::profiling
