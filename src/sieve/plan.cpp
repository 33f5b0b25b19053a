// Divides a ragged batch into work items.
#include <tamis/attend.h>

#include <algorithm>

#include "core/fail.h"

namespace tamis {
namespace {

void check_lengths(const Batch& batch) {
  if (batch.queries.size() != batch.sequences.size())
    core::fail(Code::usage,
               "a batch of {} sequences has {} numbers of queries; there must be one for each",
               batch.sequences.size(), batch.queries.size());
  std::int64_t queries = 0;
  for (std::size_t s = 0; s < batch.queries.size(); ++s) {
    if (batch.queries[s] < 0)
      core::fail(Code::usage, "sequence {} has {} queries; there must be 0 or more",
                 batch.sequences[s], batch.queries[s]);
    queries += batch.queries[s];
  }
  if (!batch.seen.empty() && static_cast<std::int64_t>(batch.seen.size()) != queries)
    core::fail(
        Code::usage,
        "a batch of {} queries says for {} how many tokens they see; for all or for none of them",
        queries, batch.seen.size());
}

}  // namespace

Plan::Plan(const Cache& cache, const Batch& batch)
    : query_heads_(cache.heads().query_heads), kv_heads_(cache.heads().kv_heads) {
  check_lengths(batch);
  const Heads& heads = cache.heads();
  for (std::size_t s = 0; s < batch.sequences.size(); ++s) {
    const Part part{batch.sequences[s], cache.tokens(batch.sequences[s]), queries(),
                    batch.queries[s]};
    for (std::int64_t i = 0; i < part.queries; ++i) {
      const std::int64_t seen = batch.seen.empty()
                                    ? part.tokens - part.queries + 1 + i
                                    : batch.seen[static_cast<std::size_t>(part.first_query + i)];
      if (seen < 0 || seen > part.tokens)
        core::fail(Code::usage, "query {} of sequence {} sees {} tokens; the sequence has {}", i,
                   part.sequence, seen, part.tokens);
      seen_.push_back(seen);
    }
    parts_.push_back(part);
  }
  std::vector<std::int64_t> order(parts_.size());
  for (std::size_t p = 0; p < order.size(); ++p) order[p] = static_cast<std::int64_t>(p);
  std::ranges::stable_sort(order, std::greater<>(), [&](std::int64_t p) {
    return parts_[static_cast<std::size_t>(p)].tokens;
  });
  for (const std::int64_t p : order) {
    const std::int64_t rows = parts_[static_cast<std::size_t>(p)].queries * heads.group();
    const std::int64_t at_once = rows > most_sparse_rows ? rows : pass_rows;
    for (std::int64_t head = 0; head < heads.kv_heads; ++head)
      for (std::int64_t first = 0; first < rows; first += at_once)
        items_.push_back({p, head, first, std::min(at_once, rows - first)});
  }
}

const char* words_for(Reached reached) {
  switch (reached) {
    case Reached::met:
      return "the budget was met";
    case Reached::stored_bits:
      return "all stored bits were read, and prove no more";
    case Reached::look_alone:
      return "what is read whatever the budget exceeds it: the first look and raw tokens, or "
             "everything";
    case Reached::not_finite:
      return "the query or its logits are not finite";
  }
  return "";
}

const char* words_for(Dense dense) {
  switch (dense) {
    case Dense::no:
      return "read sparsely";
    case Dense::short_sequence:
      return "dense: the sequence is short or kept raw";
    case Dense::prefill:
      return "dense: many rows share the reading";
    case Dense::wide:
      return "dense: the bounds of a sparse reading would be too wide";
  }
  return "";
}

}  // namespace tamis
