// The index as an object: memory, growth, truncation, copies. What a block holds is in encode.cpp.
#include "sieve/index.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "attention/check.h"
#include "attention/dense.h"
#include "attention/workspace.h"
#include "core/fail.h"
#include "core/inside_of.h"
#include "core/parallel.h"
#include "sieve/encode.h"

namespace tamis {
namespace {

std::size_t line(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

Layout::Layout(const IndexShape& shape)
    : d(shape.head_dim),
      d32(round_up(d, 32)),
      value_d(shape.value_dim),
      value_d32(round_up(value_d, 32)),
      values(shape.values) {
  const auto wide = static_cast<std::size_t>(d32);
  const auto value_wide = static_cast<std::size_t>(value_d32);
  centre = sizeof(BlockHead);
  step = centre + 2 * wide;
  norms = step + 2 * wide;
  centroid = norms + block_keys;
  high = line(centroid + 2 * value_wide);
  coarse_bytes = line(high + static_cast<std::size_t>(block_keys * d32 / 2));

  value_codes = low_bytes();
  middle_norms = value_codes + (values ? static_cast<std::size_t>(block_keys * value_stride()) : 0);
  value_norms = middle_norms + block_keys;
  value_low = value_norms + (values ? block_keys : 0);
  value_step = value_low + (values ? 2 * block_keys : 0);
  middle_bytes = line(value_step + (values ? 2 * block_keys : 0));

  // A residual is at most half a step per channel, but for rounding.
  coarse_unit = 0.505 * std::sqrt(static_cast<double>(d)) / 254;
  middle_unit = coarse_unit / 16;
}

Index::Impl::Impl(const IndexShape& index_shape)
    : shape(index_shape),
      layout(index_shape),
      coarse(static_cast<std::size_t>(index_shape.kv_heads)),
      middle(static_cast<std::size_t>(index_shape.kv_heads)),
      pinned(static_cast<std::size_t>(index_shape.kv_heads)),
      largest(static_cast<std::size_t>(index_shape.kv_heads)),
      stamps(static_cast<std::size_t>(index_shape.kv_heads)) {}

void Index::Impl::set_blocks(std::int64_t count) {
  // All memory first, which `reserve` has for the rest: a failure here leaves the index as it was.
  for (std::size_t h = 0; h < pinned.size(); ++h) {
    std::size_t wanted = pinned[h].size();
    for (std::int64_t block = blocks; block < count; ++block)
      wanted += coarse_block(static_cast<std::int64_t>(h), block).head().pinned;
    if (wanted > pinned[h].capacity()) pinned[h].reserve(std::max(wanted, 2 * pinned[h].capacity()));
  }
  for (std::size_t h = 0; h < pinned.size(); ++h) {
    std::vector<std::int64_t>& tokens = pinned[h];
    while (!tokens.empty() && tokens.back() >= count * block_keys) tokens.pop_back();
    Largest most = largest_of(static_cast<std::int64_t>(h), std::min(blocks, count));
    largest[h].resize(static_cast<std::size_t>(count));
    stamps[h].resize(static_cast<std::size_t>(count));
    for (std::int64_t block = blocks; block < count; ++block) {
      const auto record = coarse_block(static_cast<std::int64_t>(h), block);
      most = {std::max(most.key, record.head().key_norm), std::max(most.value, record.head().value_norm),
              std::max(most.radius, record.head().radius)};
      largest[h][static_cast<std::size_t>(block)] = most;
      for (std::int64_t j = 0; record.head().pinned > 0 && j < block_keys; ++j)
        if (record.norms()[j] == pinned_code) tokens.push_back(block * block_keys + j);
    }
  }
  blocks = count;
}

void Index::Impl::remember(std::span<const KvPages> kv, std::int64_t first) {
  for (std::size_t h = 0; h < stamps.size(); ++h)
    if (kv[h].stamps != nullptr)
      std::copy(kv[h].stamps + first, kv[h].stamps + blocks, stamps[h].begin() + first);
}

// A slab holds the same number of consecutive blocks of every head, coarse and middle records each in one
// run, so that a scan of a head reads long stretches. Slabs double up to 256 blocks.
void Index::Impl::reserve(std::int64_t wanted) {
  while (room < wanted) {
    const std::int64_t count = std::clamp<std::int64_t>(room, 1, 256);
    const auto heads = static_cast<std::size_t>(shape.kv_heads);
    const auto blocks_now = static_cast<std::size_t>(count);
    for (std::size_t h = 0; h < heads; ++h) {
      coarse[h].reserve(coarse[h].size() + blocks_now);
      middle[h].reserve(middle[h].size() + blocks_now);
      largest[h].reserve(coarse[h].size() + blocks_now);
      stamps[h].reserve(coarse[h].size() + blocks_now);
    }
    slabs.push_back(make_slab(heads * blocks_now * (layout.coarse_bytes + layout.middle_bytes)));
    std::byte* at = slabs.back().get();
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t b = 0; b < blocks_now; ++b, at += layout.coarse_bytes) coarse[h].push_back(at);
      for (std::size_t b = 0; b < blocks_now; ++b, at += layout.middle_bytes) middle[h].push_back(at);
    }
    room += count;
  }
}

void check_pages(const IndexShape& shape, std::span<const KvPages> kv, std::int64_t tokens) {
  if (static_cast<std::int64_t>(kv.size()) != shape.kv_heads)
    fail(Code::usage, "{} KV heads were given to an index of {}", kv.size(), shape.kv_heads);
  for (std::size_t h = 0; h < kv.size(); ++h) {
    const KvPages& head = kv[h];
    check_dtype(shape.dtype, head, h);
    if (head.tokens < tokens || head.tokens > most_tokens)
      fail(Code::usage, "KV head {} has {} tokens; {} are indexed", h, head.tokens, tokens);
    if (head.tokens != kv[0].tokens)
      fail(Code::usage, "KV head {} has {} tokens and KV head 0 has {}: an index needs the same number", h,
           head.tokens, kv[0].tokens);
    if (head.tokens == 0) continue;
    if (head.k == nullptr || head.v == nullptr)
      fail(Code::usage, "KV head {} has tokens but a null page table", h);
    if (head.k_stride < shape.head_dim || head.v_stride < shape.value_dim)
      fail(Code::usage, "KV head {} has strides {} and {}, less than the head sizes {} and {}", h,
           head.k_stride, head.v_stride, shape.head_dim, shape.value_dim);
  }
}

void check_same_tokens(const Index::Impl& index, std::span<const KvPages> kv) {
  for (std::size_t h = 0; h < kv.size(); ++h) {
    const auto& indexed = index.stamps[h];
    const std::uint64_t* given = kv[h].stamps;
    if (given == nullptr) continue;
    // What cuts into a page takes those after it along: the last one that is known tells of all.
    auto last = std::ssize(indexed);
    while (last > 0 && indexed[static_cast<std::size_t>(last - 1)] == 0) --last;
    if (last == 0 || indexed[static_cast<std::size_t>(last - 1)] == given[last - 1]) continue;
    std::ptrdiff_t same = 0;
    while (indexed[static_cast<std::size_t>(same)] == 0 ||
           indexed[static_cast<std::size_t>(same)] == given[same])
      ++same;
    fail(Code::usage,
         "KV head {} holds other tokens than the {} that are indexed, from token {} on: truncate the index "
         "to {} "
         "tokens, then extend it",
         h, index.blocks * block_keys, same * block_keys, same * block_keys);
  }
}

Index::Index(const IndexShape& shape) {
  check_kv_dtype(shape.dtype);
  Shape sizes;
  sizes.head_dim = shape.head_dim;
  sizes.value_dim = shape.value_dim;
  check_head_sizes(sizes);
  if (shape.kv_heads < 1 || shape.kv_heads > most_heads)
    fail(Code::usage, "an index of {} KV heads was asked for; 1 to {} are possible", shape.kv_heads,
         most_heads);
  if (shape.sinks < 0 || shape.sinks > block_keys)
    fail(Code::usage, "an index with {} sinks was asked for; 0 to {} are possible", shape.sinks,
         block_keys);
  impl_ = std::make_unique<Impl>(shape);
}

Index::~Index() = default;
Index::Index(Index&&) noexcept = default;
Index& Index::operator=(Index&&) noexcept = default;

Index::Index(const Index& other) : Index(other.shape()) {
  const Impl& from = other.impl();
  impl_->reserve(from.blocks);
  for (std::size_t h = 0; h < from.coarse.size(); ++h)
    for (std::size_t b = 0; b < static_cast<std::size_t>(from.blocks); ++b) {
      std::memcpy(impl_->coarse[h][b], from.coarse[h][b], from.layout.coarse_bytes);
      std::memcpy(impl_->middle[h][b], from.middle[h][b], from.layout.middle_bytes);
    }
  impl_->set_blocks(from.blocks);
  impl_->stamps = from.stamps;
}

Index& Index::operator=(const Index& other) {
  if (this != &other) *this = Index(other);
  return *this;
}

void Index::extend(std::span<const KvPages> kv, Workspace& workspace) {
  Impl& index = impl();
  const InUse use(workspace);
  check_pages(index.shape, kv, index.blocks * block_keys);
  check_same_tokens(index, kv);
  const std::int64_t whole = kv[0].tokens / block_keys;
  const std::int64_t added = whole - index.blocks;
  if (added <= 0) return;
  index.reserve(whole);
  const Kernels& table = kernels();
  Workspace::Impl& scratch = workspace.impl();
  const std::int64_t floats = encode_scratch(index.layout);
  for (Scratch& worker : scratch.worker) worker.get(floats);
  const auto encode = [&](std::int64_t head, std::int64_t block, bool last, int worker) {
    const auto h = static_cast<std::size_t>(head);
    const auto b = static_cast<std::size_t>(block);
    const BlockSource source{kv[h].k[b],
                             kv[h].v[b],
                             kv[h].k_stride,
                             kv[h].v_stride,
                             index.shape.dtype,
                             head,
                             block * block_keys,
                             block == 0 ? index.shape.sinks : 0,
                             last ? nullptr : kv[h].k[b + 1],
                             last ? nullptr : kv[h].v[b + 1]};
    encode_block(table, index.layout, source, scratch.worker[static_cast<std::size_t>(worker)].get(floats),
                 {index.layout, index.coarse[h][b]}, {index.layout, index.middle[h][b]});
  };
  // A worker takes some blocks in a row: it fetches the next one while it encodes one.
  constexpr std::int64_t in_a_row = 16;
  const std::int64_t rows = (added + in_a_row - 1) / in_a_row;
  parallel_for(index.shape.kv_heads * rows, scratch.crew(), [&](std::int64_t item, int worker) {
    const std::int64_t first = index.blocks + item % rows * in_a_row;
    const std::int64_t end = std::min(whole, first + in_a_row);
    for (std::int64_t block = first; block < end; ++block)
      encode(item / rows, block, block + 1 == end, worker);
  });
  index.set_blocks(whole);
  index.remember(kv, whole - added);
}

void Index::truncate(std::int64_t tokens) {
  if (tokens < 0) fail(Code::usage, "cannot truncate an index to {} tokens", tokens);
  impl().set_blocks(std::min(impl().blocks, tokens / block_keys));
}

const Index::Impl& Index::impl() const { return inside_of(impl_, "an Index"); }
Index::Impl& Index::impl() { return inside_of(impl_, "an Index"); }
const IndexShape& Index::shape() const { return impl().shape; }
std::int64_t Index::tokens() const { return impl().blocks * block_keys; }
std::size_t Index::bytes() const {
  return static_cast<std::size_t>(impl().shape.kv_heads * impl().blocks) *
         (impl().layout.coarse_bytes + impl().layout.middle_bytes);
}

}  // namespace tamis
