#include "sieve/look.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sieve/error_model.h"

namespace tamis::sieve {

Look::Look(const Problem& problem, int look_planes, Arena& arena)
    : planes(look_planes), rows(problem.rows), d32(problem.layout.key_d32) {
  const std::int64_t blocks = problem.blocks;
  weight = arena.take<float>(blocks * rows * page_tokens);
  folded = arena.take<std::int16_t>(blocks * rows * d32);
  looked = arena.take<Looked>(blocks * rows);
  values = arena.take<LookedValues>(blocks);
  reference = arena.take<double>(problem.spans() * rows);
  sane = arena.take<bool>(problem.spans());
}

std::int64_t look_scratch(const Problem& problem) {
  return kernels::fold_scratch * problem.layout.key_d32;
}

namespace {

/// The keys of a block for which a row has estimates: those that it sees and that are not raw.
class Visible {
 public:
  Visible(const cache::BlockHead& head, const cache::CodedBlock& coded, std::int64_t seen)
      : raw_(head.raw), end_(std::clamp<std::int64_t>(seen - coded.first, 0, coded.tokens)) {
    all_ = head.raw_tokens == 0 && end_ == page_tokens;
  }
  [[nodiscard]] bool all() const { return all_; }
  [[nodiscard]] bool operator()(std::int64_t j) const {
    return j < end_ && (raw_[static_cast<std::size_t>(j / 32)] >> (j % 32) & 1U) == 0;
  }

 private:
  const std::array<std::uint32_t, 4>& raw_;
  std::int64_t end_;
  bool all_;
};

using ScanRows = std::array<kernels::ScanRow, most_rows>;

/// Prefetches the part of a block's record that fold_block() reads.
void fetch_header(const Problem& problem, std::int64_t b) {
  if (b >= problem.blocks) return;
  const cache::HeadBlock block = problem.block(b);
  for (std::size_t at = 0; at < problem.layout.value_centre; at += 64)
    __builtin_prefetch(block.record + at);
}

/// Computes the dot products of the folded queries' integers with the codes of a block's keys.
void dots(const Problem& problem, const cache::HeadBlock& block, const cache::HeadBlock& next,
          const Look& look, std::int64_t b) {
  const kernels::SieveKernels& kernels = problem.kernels.sieve;
  float* dot = look.weights(b, 0);
  if (look.planes == 1) {
    kernels.dots_of_plane(block.key_plane[0], look.d32, look.integers(b), look.rows, dot,
                          next.key_plane[0]);
  } else {
    kernels.dots_of_planes(block.key_plane[0], block.key_plane[1], look.d32, look.integers(b),
                           look.rows, dot, next.key_plane[0], next.key_plane[1]);
  }
}

/// Folds the queries with the steps of a block. Returns for each row the step and the shift
/// that turn dot products with codes into logits. The references, which are not known yet,
/// are not subtracted.
ScanRows fold_block(const Problem& problem, const cache::HeadBlock& block, std::int64_t b,
                    float* scratch, const Look& look) {
  const cache::BlockHead& head = block.head();
  look.values[b] = {head.value_spread, head.value_missing[0] * head.value_spread /
                                           std::max(head.value_radius, 0x1p-100F)};
  std::array<kernels::Folded, most_rows> folded;
  problem.kernels.sieve.fold(problem.query, look.d32, look.rows, block.key_centre(),
                             block.key_step(), head.key_unit, look.d32, scratch, look.integers(b),
                             folded.data());
  ScanRows scan;
  for (int r = 0; r < look.rows; ++r) {
    const kernels::Folded& f = folded[static_cast<std::size_t>(r)];
    Looked& out = look.at(b, r);
    out.step = f.step;
    out.sum_x = f.sum;
    out.sum = f.norm2;  // ‖x‖² until weigh_block() computes the widths from it
    const float finest = look.planes == 1 ? f.step : f.step / 16;
    const double half = look.planes == 1 ? 7.5 : 127.5;
    const double shift = static_cast<double>(f.base) - half * static_cast<double>(finest) * f.sum;
    scan[static_cast<std::size_t>(r)] = {finest, static_cast<float>(shift)};
  }
  return scan;
}

/// Returns the largest estimated logit of a block for one row; −∞ if the row has no estimate there.
double largest_logit(const Problem& problem, const Visible& visible, const kernels::ScanRow& scan,
                     const float* dot) {
  double most = -std::numeric_limits<double>::infinity();
  if (visible.all()) {
    most = problem.kernels.maximum(dot, page_tokens);
  } else {
    for (std::int64_t j = 0; j < page_tokens; ++j)
      if (visible(j)) most = std::max(most, static_cast<double>(dot[j]));
  }
  return static_cast<double>(scan.step) * most + static_cast<double>(scan.shift);
}

/// Turns the dot products of a block into weights relative to the references of its span, and
/// computes the widths of all levels.
void weigh_block(const Problem& problem, const cache::HeadBlock& block, std::int64_t span,
                 std::int64_t b, ScanRows& scan, const Look& look) {
  const cache::BlockHead& head = block.head();
  const double root_d = std::sqrt(static_cast<double>(problem.layout.key_dim));
  const double chain = channel_chain(look.d32, problem.kernels.pad / 2);
  std::array<float, most_rows> sums, most;
  for (int r = 0; r < look.rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    Looked& out = look.at(b, r);
    const double reference = look.reference_of(span, r);
    scan[i].shift = static_cast<float>(static_cast<double>(scan[i].shift) - reference);
    const auto width = widths(head,
                              {problem.query_norm[i], std::sqrt(static_cast<double>(out.sum)),
                               static_cast<double>(out.step), reference},
                              root_d, chain);
    for (int l = look.planes - 1; l < problem.coded(b).levels; ++l) {
      const double octaves = width.at(head, l);
      if (!(octaves < widest)) look.sane[span] = false;
      out.psi[static_cast<std::size_t>(l)] =
          static_cast<float>(excess(octaves * log_2) * (1 + 0x1p-22));
    }
  }
  problem.kernels.sieve.weigh(look.rows, scan.data(), look.weights(b, 0), sums.data(), most.data());
  for (int r = 0; r < look.rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    float* weight = look.weights(b, r);
    const Visible visible(head, problem.coded(b), problem.row[i].seen);
    if (!visible.all()) {
      std::array<float, 4> below{}, limit;
      limit.fill(std::numeric_limits<float>::infinity());
      for (std::int64_t j = 0; j < page_tokens; ++j)
        if (!visible(j)) weight[j] = 0.0F;
      problem.kernels.sieve.sums_below(weight, page_tokens, limit.data(), below.data());
      sums[i] = below[0];
      most[i] = problem.kernels.maximum(weight, page_tokens);
    }
    look.at(b, r).sum = sums[i];
    look.at(b, r).most = most[i];
  }
}

}  // namespace

void look_span(const Problem& problem, std::int64_t span, float* scratch, const Look& look) {
  const std::int64_t first = span * span_blocks;
  const std::int64_t end = problem.span_end(span);
  std::array<ScanRows, span_blocks> scan;
  std::array<double, most_rows> most;
  most.fill(-std::numeric_limits<double>::infinity());
  cache::HeadBlock block = problem.block(first);
  for (std::int64_t b = first; b < end; ++b) {
    const cache::HeadBlock next = b + 1 < problem.blocks ? problem.block(b + 1) : block;
    fetch_header(problem, b + 2);
    ScanRows& rows = scan[static_cast<std::size_t>(b - first)];
    rows = fold_block(problem, block, b, scratch, look);
    dots(problem, block, next, look, b);
    for (int r = 0; r < look.rows; ++r) {
      const auto i = static_cast<std::size_t>(r);
      const Visible visible(block.head(), problem.coded(b), problem.row[i].seen);
      most[i] = std::max(most[i], largest_logit(problem, visible, rows[i], look.weights(b, r)));
    }
    block = next;
  }
  look.sane[span] = true;
  for (int r = 0; r < look.rows; ++r) {
    const double top = most[static_cast<std::size_t>(r)];
    // The weights of a row that sees no key of the span are 0 with any reference.
    const bool none = top == -std::numeric_limits<double>::infinity();
    if (!none && !(std::abs(top) < 0x1p100)) look.sane[span] = false;
    look.reference_of(span, r) = !none && look.sane[span] ? std::ceil(top) : -0x1p20;
  }
  for (std::int64_t b = first; b < end; ++b)
    weigh_block(problem, problem.block(b), span, b, scan[static_cast<std::size_t>(b - first)],
                look);
}

}  // namespace tamis::sieve
