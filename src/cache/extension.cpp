#include "cache/extension.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cache/encode.h"
#include "core/fail.h"

namespace tamis::cache {

Extension::Extension(Contents& contents, const CacheOptions& options, std::int64_t tokens,
                     const Offsets& offsets)
    : contents_(&contents),
      sinks_(options.sinks),
      tokens_(tokens),
      offsets_(offsets),
      raw_before_(contents.raw_tokens()),
      pages_before_(std::ssize(contents.pages_)),
      pages_after_((raw_before_ + tokens + page_tokens - 1) / page_tokens),
      coded_pages_(tokens == 0 || contents.tokens_ + tokens < options.raw_below
                       ? 0
                       : std::min((raw_before_ + tokens) / page_tokens, 1 + tokens / page_tokens)),
      blocks_before_(std::ssize(contents.blocks_)) {
  fill_first_ = std::max(coded_pages_, raw_before_ / page_tokens);
}

Extension::Step Extension::step(std::int64_t number) {
  const std::int64_t page = number < coded_pages_ ? number : fill_first_ + number - coded_pages_;
  const std::int64_t start = page * page_tokens;
  return {.extension = this,
          .page = page,
          .from = std::clamp<std::int64_t>(raw_before_ - start, 0, page_tokens),
          .to = std::clamp<std::int64_t>(raw_before_ + tokens_ - start, 0, page_tokens),
          .coded = page < coded_pages_,
          .raw = nullptr,
          .block = nullptr,
          .mask = {}};
}

void Extension::make_room() {
  if (coded_pages_ == 0 && pages_after_ == pages_before_) return;
  contents_->make_room(static_cast<std::size_t>(coded_pages_),
                       static_cast<std::size_t>(pages_after_ - pages_before_));
}

void Extension::begin(Step& step, const Incoming& rows) {
  Store& store = contents_->store_;
  if (step.page >= pages_before_) {
    const bool in_place = step.coded && step.page != coded_pages_ - 1 && rows.keys.as_stored() &&
                          rows.values.as_stored();
    contents_->pages_.push_back(in_place ? nullptr : store.make_raw_page());
    step.raw = contents_->pages_.back();
    return;
  }
  step.raw = contents_->pages_[static_cast<std::size_t>(step.page)];
  if (step.from == step.to || !step.raw->shared()) return;
  copy_ = store.make_raw_page();
  const RawLayout& raw = store.raw();
  const auto held = static_cast<std::size_t>(step.from);
  const std::byte* const old = step.raw->page.at;
  std::byte* const copy = copy_->page.at;
  for (std::int64_t h = 0; h < raw.kv_heads; ++h) {
    std::memcpy(raw.key(copy, page_tokens, h, 0), raw.key(old, page_tokens, h, 0),
                held * raw.key_bytes);
    std::memcpy(raw.value(copy, page_tokens, h, 0), raw.value(old, page_tokens, h, 0),
                held * raw.value_bytes);
  }
  step.raw = copy_;
}

std::int64_t Extension::bytes(const Step& step) const {
  if (step.raw == nullptr) return 0;
  const RawLayout& raw = contents_->store_.raw();
  return (step.to - step.from) * raw.kv_heads *
         static_cast<std::int64_t>(raw.key_bytes + raw.value_bytes);
}

bool Extension::fill(const Step& step, const kernels::Kernels& kernels, const Incoming& rows,
                     std::int64_t head) const {
  if (step.raw == nullptr) return true;
  const RawLayout& raw = contents_->store_.raw();
  std::byte* const page = step.raw->page.at;
  const std::int64_t first = step.page * page_tokens + step.from - raw_before_;
  const std::int64_t count = step.to - step.from;
  const bool keys = rows.keys.store(kernels, offsets_.keys, first, count, head,
                                    raw.key(page, page_tokens, head, step.from));
  const bool values = rows.values.store(kernels, offsets_.values, first, count, head,
                                        raw.value(page, page_tokens, head, step.from));
  return keys && values;
}

BlockRows Extension::rows_of(const Step& step, const Incoming& rows, std::int64_t head) const {
  const RawLayout& raw = contents_->store_.raw();
  if (step.raw == nullptr) {
    const std::int64_t first = step.page * page_tokens - raw_before_;
    return {rows.keys.at(offsets_.keys, first, head), rows.values.at(offsets_.values, first, head),
            rows.keys.rows->token_stride, rows.values.rows->token_stride};
  }
  const std::byte* const page = step.raw->page.at;
  return {raw.key(page, page_tokens, head, 0), raw.value(page, page_tokens, head, 0), raw.key_dim,
          raw.value_dim};
}

bool Extension::mark_raw(Step& step, const Incoming& rows) const {
  const RawLayout& raw = contents_->store_.raw();
  bool finite = true;
  for (std::int64_t h = 0; h < raw.kv_heads; ++h)
    finite = add_beyond_codes(raw, rows_of(step, rows, h), step.mask) && finite;
  const std::int64_t first = contents_->coded_tokens() + step.page * page_tokens;
  for (std::int64_t j = 0; j < std::min(page_tokens, sinks_ - first); ++j)
    add_to_mask(step.mask, j);
  return finite;
}

void Extension::make_block(Step& step) {
  step.block = contents_->store_.make_block(contents_->store_.levels(), count_mask(step.mask));
  contents_->blocks_.push_back(step.block);
  contents_->store_.place_raw(*step.block, step.mask);
}

void Extension::encode(const Step& step, const kernels::Kernels& kernels, const Incoming& rows,
                       std::int64_t head, float* scratch) const {
  const Store& store = contents_->store_;
  const RawLayout& raw = store.raw();
  const BlockRows from = rows_of(step, rows, head);
  std::array<std::byte*, most_levels> planes{};
  for (std::size_t p = 0; p < planes.size(); ++p) planes[p] = step.block->page[p].at;
  encode_head(kernels, store.layout(), store.levels(),
              {.keys = from.keys,
               .values = from.values,
               .key_stride = from.key_stride,
               .value_stride = from.value_stride,
               .dtype = raw.dtype,
               .tokens = static_cast<std::int32_t>(page_tokens),
               .raw = step.mask,
               .next_keys = head + 1 < raw.kv_heads ? rows_of(step, rows, head + 1).keys : nullptr},
              scratch, head_pages(store.layout(), planes.data(), store.levels(), head));
  std::int64_t row = 0;
  for (std::int64_t j = 0; j < page_tokens; ++j) {
    if (!in_mask(step.mask, j)) continue;
    std::memcpy(raw.key(step.block->raw.at, step.block->raw_rows, head, row),
                from.keys + j * from.key_stride * size_of(raw.dtype), raw.key_bytes);
    std::memcpy(raw.value(step.block->raw.at, step.block->raw_rows, head, row),
                from.values + j * from.value_stride * size_of(raw.dtype), raw.value_bytes);
    ++row;
  }
}

/// Releases a raw page that this call made and encoded, so that a long append holds few raw pages
/// at a time. The last encoded page is kept, as the raw page of the last block.
void Extension::finish(Step& step) noexcept {
  if (!step.coded || step.raw == nullptr || step.page < pages_before_ ||
      step.page == coded_pages_ - 1)
    return;
  contents_->store_.drop(step.raw);
  contents_->pages_[static_cast<std::size_t>(step.page)] = nullptr;
}

void Extension::commit() noexcept {
  if (tokens_ == 0) return;
  Contents& c = *contents_;
  c.tokens_ += tokens_;
  if (copy_ != nullptr) {
    RawPage*& shared = c.pages_[static_cast<std::size_t>(pages_before_ - 1)];
    c.store_.drop(shared);
    shared = copy_;
  } else if (coded_pages_ == 0 && pages_after_ == pages_before_) {
    c.runs_.back().count += static_cast<std::int32_t>(tokens_);
    return;
  }
  if (coded_pages_ > 0) {
    c.drop_kept();
    for (std::int64_t p = 0; p + 1 < coded_pages_; ++p)
      if (RawPage* const page = c.pages_[static_cast<std::size_t>(p)]; page != nullptr)
        c.store_.drop(page);
    c.kept_ = c.pages_[static_cast<std::size_t>(coded_pages_ - 1)];
    c.pages_.erase(c.pages_.begin(), c.pages_.begin() + coded_pages_);
    const auto made = static_cast<std::size_t>(blocks_before_);
    for (std::size_t b = made; b < made + static_cast<std::size_t>(coded_pages_); ++b)
      c.list_block(*c.blocks_[b], page_tokens, c.store_.levels());
  }
  c.list_raw_pages();
}

void Extension::roll_back() noexcept {
  Contents& c = *contents_;
  while (std::ssize(c.pages_) > pages_before_) {
    if (c.pages_.back() != nullptr) c.store_.drop(c.pages_.back());
    c.pages_.pop_back();
  }
  while (std::ssize(c.blocks_) > blocks_before_) {
    c.store_.drop(c.blocks_.back(), 0, c.store_.levels());
    c.blocks_.pop_back();
  }
  if (copy_ != nullptr) c.store_.drop(copy_);
}

void Extension::check_finite(const Incoming& rows, Sequence sequence) const {
  const auto check = [&](const IncomingRows& each, std::int64_t offset, std::int64_t token,
                         std::int64_t head, const char* what) {
    for (std::int64_t c = 0; c < each.dim; ++c) {
      const DType dtype = each.rows->dtype;
      const float x = number_at(
          dtype, each.at(offset, token, head) + c * each.rows->channel_stride * size_of(dtype));
      if (!std::isfinite(x))
        core::fail(Code::input,
                   "the {} of token {} appended to sequence {} has {} in channel {} of KV head {}; "
                   "it must be finite",
                   what, token, sequence, x, c, head);
    }
  };
  for (std::int64_t token = 0; token < tokens_; ++token)
    for (std::int64_t head = 0; head < contents_->store_.raw().kv_heads; ++head) {
      check(rows.keys, offsets_.keys, token, head, "key");
      check(rows.values, offsets_.values, token, head, "value");
    }
}

}  // namespace tamis::cache
