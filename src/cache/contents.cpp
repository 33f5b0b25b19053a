#include "cache/contents.h"

#include <algorithm>

namespace tamis::cache {
namespace {

template <class T>
void reserve_more(std::vector<T>& list, std::size_t more) {
  const std::size_t wanted = list.size() + more;
  if (wanted > list.capacity()) list.reserve(std::max(wanted, 2 * list.capacity()));
}

template <class T>
std::size_t bytes_of(const std::vector<T>& list) {
  return list.capacity() * sizeof(T);  // NOLINT(bugprone-sizeof-expression): of pointers too
}

/// Returns how many raw tokens of a block are among its first `tokens` tokens.
std::int32_t raw_among(const RawRun& run, std::int64_t tokens) {
  return static_cast<std::int32_t>(std::lower_bound(run.place, run.place + run.count, tokens) -
                                   run.place);
}

}  // namespace

Contents::~Contents() {
  drop_raw_pages(0);
  drop_kept();
  for (std::size_t b = 0; b < blocks_.size(); ++b) store_.drop(blocks_[b], 0, coded_[b].levels);
  store_.count_books(-counted_);
}

void Contents::make_room(std::size_t blocks, std::size_t pages) {
  reserve_more(coded_, blocks);
  reserve_more(blocks_, blocks);
  reserve_more(pages_, pages);
  reserve_more(runs_, blocks + pages);
  count_lists();
}

void Contents::count_lists() noexcept {
  const auto bytes = static_cast<std::ptrdiff_t>(
      sizeof *this + bytes_of(coded_) + bytes_of(blocks_) + bytes_of(pages_) + bytes_of(runs_));
  store_.count_books(bytes - counted_);
  counted_ = bytes;
}

void Contents::list_block(const Block& block, std::int64_t tokens, int levels) noexcept {
  CodedBlock& coded = coded_.emplace_back();
  coded.first =
      coded_.size() == 1 ? 0 : coded_[coded_.size() - 2].first + coded_[coded_.size() - 2].tokens;
  coded.tokens = static_cast<std::int32_t>(tokens);
  coded.levels = levels;
  coded.page = {};
  for (std::size_t p = 0; p < static_cast<std::size_t>(levels); ++p)
    coded.page[p] = block.page[p].at;
  if (block.raw_tokens == 0) return;
  const RawLayout& raw = store_.raw();
  RawRun run{};
  run.first = coded.first;
  run.count = block.raw_tokens;
  run.head_rows = block.raw_rows;
  run.place = reinterpret_cast<const std::uint8_t*>(block.raw.at + raw.places_at(block.raw_rows));
  run.keys = block.raw.at;
  run.values = block.raw.at + raw.values_at(block.raw_rows);
  run.count = raw_among(run, tokens);
  if (run.count == 0) return;
  runs_.resize(block_runs_);
  runs_.push_back(run);
  ++block_runs_;
}

void Contents::list_raw_pages() noexcept {
  runs_.resize(block_runs_);
  std::int64_t first = coded_tokens();
  for (const RawPage* page : pages_) {
    RawRun run{};
    run.first = first;
    run.count = static_cast<std::int32_t>(std::min(page_tokens, tokens_ - first));
    run.head_rows = static_cast<std::int32_t>(page_tokens);
    run.keys = page->page.at;
    run.values = page->page.at + store_.raw().values_at(page_tokens);
    runs_.push_back(run);
    first += run.count;
  }
}

void Contents::drop_raw_pages(std::size_t from) noexcept {
  for (std::size_t p = from; p < pages_.size(); ++p) store_.drop(pages_[p]);
  pages_.resize(std::min(from, pages_.size()));
}

void Contents::drop_kept() noexcept {
  if (kept_ != nullptr) store_.drop(kept_);
  kept_ = nullptr;
}

void Contents::drop_last_block() noexcept {
  shorten_last_block(0);
  store_.drop(blocks_.back(), 0, coded_.back().levels);
  blocks_.pop_back();
  coded_.pop_back();
}

void Contents::shorten_last_block(std::int64_t tokens) noexcept {
  CodedBlock& last = coded_.back();
  last.tokens = static_cast<std::int32_t>(tokens);
  runs_.resize(block_runs_);
  if (block_runs_ == 0 || runs_.back().first != last.first) return;
  runs_.back().count = raw_among(runs_.back(), tokens);
  if (runs_.back().count > 0) return;
  runs_.pop_back();
  --block_runs_;
}

void Contents::truncate(std::int64_t tokens) noexcept {
  if (tokens >= tokens_) return;
  const std::int64_t coded = coded_tokens();
  tokens_ = tokens;
  if (tokens >= coded) {
    drop_raw_pages(static_cast<std::size_t>((tokens - coded + page_tokens - 1) / page_tokens));
    list_raw_pages();
    return;
  }
  drop_raw_pages(0);
  if (tokens <= coded_.back().first) drop_kept();
  while (!coded_.empty() && tokens <= coded_.back().first) drop_last_block();
  if (kept_ != nullptr) {  // the cut is in the last block: its tokens become raw again
    drop_last_block();
    pages_.push_back(kept_);  // has capacity: the page was in this list before it was encoded
    kept_ = nullptr;
  } else if (!coded_.empty() && tokens < coded_tokens()) {
    shorten_last_block(tokens - coded_.back().first);
  }
  list_raw_pages();
}

void Contents::shed(int levels, std::int64_t tokens) noexcept {
  for (std::size_t b = 0; b < coded_.size(); ++b) {
    CodedBlock& block = coded_[b];
    if (block.first + block.tokens > tokens) return;
    if (block.levels <= levels) continue;
    for (auto p = static_cast<std::size_t>(levels); p < static_cast<std::size_t>(block.levels); ++p)
      block.page[p] = nullptr;
    store_.drop(blocks_[b], levels, block.levels);
    block.levels = levels;
  }
}

std::unique_ptr<Contents> Contents::fork(std::int64_t tokens) const {
  auto to = std::make_unique<Contents>(store_);
  std::size_t blocks = 0;  // those that begin before `tokens`
  while (blocks < coded_.size() && coded_[blocks].first < tokens) ++blocks;
  const std::int64_t coded = coded_tokens();
  const bool into_last = blocks > 0 && blocks == coded_.size() && tokens < coded;
  const bool whole = blocks == coded_.size() && tokens >= coded;
  const bool back_to_raw = into_last && kept_ != nullptr;
  if (back_to_raw) --blocks;
  const std::size_t pages =
      whole ? static_cast<std::size_t>((tokens - coded + page_tokens - 1) / page_tokens) : 0;
  to->make_room(blocks, std::max<std::size_t>(pages, 1));
  for (std::size_t b = 0; b < blocks; ++b) {
    Store::share(blocks_[b], coded_[b].levels);
    to->blocks_.push_back(blocks_[b]);
    to->list_block(*blocks_[b], std::min<std::int64_t>(coded_[b].tokens, tokens - coded_[b].first),
                   coded_[b].levels);
  }
  for (std::size_t p = 0; p < pages; ++p) {
    Store::share(pages_[p]);
    to->pages_.push_back(pages_[p]);
  }
  if (kept_ != nullptr && (whole || back_to_raw)) {
    Store::share(kept_);
    if (whole)
      to->kept_ = kept_;
    else
      to->pages_.push_back(kept_);
  }
  to->tokens_ = tokens;
  to->list_raw_pages();
  return to;
}

}  // namespace tamis::cache
