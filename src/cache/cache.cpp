#include <tamis/cache.h>

#include <array>
#include <mutex>
#include <utility>

#include <tamis/attention.h>
#include "cache/inside.h"
#include "core/inside_of.h"

namespace tamis {
namespace {

void check(const Heads& heads) {
  const auto expect = [](bool right, const char* what, std::int64_t value,
                         const char* least_and_most) {
    if (!right) core::fail(Code::usage, "{} is {}; it must be {}", what, value, least_and_most);
  };
  // Dense attention takes more heads (attention::most_heads). Here a page holds all KV heads of a
  // block and is allocated as a whole: with so many of the largest heads it takes 9 GB.
  constexpr std::int64_t most_cache_heads = 65536;
  expect(heads.kv_heads >= 1 && heads.kv_heads <= most_cache_heads, "kv_heads", heads.kv_heads,
         "1 … 65,536");
  expect(heads.query_heads >= heads.kv_heads && heads.query_heads % heads.kv_heads == 0 &&
             heads.query_heads <= most_cache_heads,
         "query_heads", heads.query_heads, "a multiple of kv_heads up to 65,536");
  expect(heads.key_dim >= 1 && heads.key_dim <= largest_dim, "key_dim", heads.key_dim, "1 … 1024");
  expect(heads.value_dim >= 1 && heads.value_dim <= largest_dim, "value_dim", heads.value_dim,
         "1 … 1024");
  if (!(heads.scale - heads.scale == 0))
    core::fail(Code::usage, "scale is {}; it must be finite", heads.scale);
}

void check(const CacheOptions& options) {
  if (options.bits != 8 && options.bits != 12 && options.bits != 16)
    core::fail(Code::usage, "bits is {}; it must be 8, 12 or 16", options.bits);
  if (options.dtype != DType::f32 && options.dtype != DType::f16 && options.dtype != DType::bf16)
    core::fail(Code::usage, "dtype is {}; a cache keeps f32, f16 or bf16", name_of(options.dtype));
  if (options.sinks < 0 || options.sinks > page_tokens)
    core::fail(Code::usage, "sinks is {}; it must be 0 … {}", options.sinks, page_tokens);
  if (options.raw_below < 0)
    core::fail(Code::usage, "raw_below is {}; it must be 0 or more", options.raw_below);
}

void check_length(std::int64_t tokens, std::int64_t most, Sequence sequence) {
  if (tokens < 0 || tokens > most)
    core::fail(Code::usage, "tokens is {}; sequence {} has {}, so it must be 0 … {}", tokens,
               sequence, most, most);
}

}  // namespace

cache::Contents& Cache::Impl::find(Sequence sequence) const {
  const std::shared_lock lock(mutex);
  const auto found = sequences.find(sequence);
  if (found == sequences.end())
    core::fail(Code::usage, "the cache has no sequence {}; add, fork or load it first", sequence);
  return *found->second;
}

void Cache::Impl::check_absent(Sequence sequence) const {
  const std::shared_lock lock(mutex);
  if (sequences.contains(sequence))
    core::fail(Code::usage,
               "the cache has a sequence {} already; remove it first or choose another name",
               sequence);
}

void Cache::Impl::insert(Sequence sequence, std::unique_ptr<cache::Contents> contents) {
  {
    const std::unique_lock lock(mutex);
    if (sequences.try_emplace(sequence, std::move(contents)).second) return;
  }
  check_absent(sequence);
}

Cache::Cache(const Heads& heads, const CacheOptions& options) {
  check(heads);
  check(options);
  impl_ = cache::with_memory([&] { return std::make_unique<Impl>(heads, options); });
}
Cache::~Cache() = default;
Cache::Cache(Cache&&) noexcept = default;
Cache& Cache::operator=(Cache&&) noexcept = default;
Cache::Impl& Cache::inside() const { return core::inside_of(impl_, "a Cache"); }

const Heads& Cache::heads() const { return inside().heads; }
const CacheOptions& Cache::options() const { return inside().options; }

void Cache::add(Sequence sequence) {
  Impl& impl = inside();
  impl.check_absent(sequence);
  cache::with_memory([&] { impl.insert(sequence, std::make_unique<cache::Contents>(impl.store)); });
}

void Cache::fork(Sequence from, std::int64_t tokens, Sequence to) {
  Impl& impl = inside();
  const cache::Contents& contents = impl.find(from);
  impl.check_absent(to);
  check_length(tokens, contents.tokens(), from);
  cache::with_memory([&] { impl.insert(to, contents.fork(tokens)); });
}

void Cache::remove(Sequence sequence) {
  Impl& impl = inside();
  std::unique_ptr<cache::Contents> contents;  // destroyed after the lock is released
  {
    const std::unique_lock lock(impl.mutex);
    const auto found = impl.sequences.find(sequence);
    if (found == impl.sequences.end())
      core::fail(Code::usage, "the cache has no sequence {} to remove", sequence);
    contents = std::move(found->second);
    impl.sequences.erase(found);
  }
}

bool Cache::contains(Sequence sequence) const {
  const Impl& impl = inside();
  const std::shared_lock lock(impl.mutex);
  return impl.sequences.contains(sequence);
}

void Cache::truncate(Sequence sequence, std::int64_t tokens) {
  cache::Contents& contents = inside().find(sequence);
  check_length(tokens, contents.tokens(), sequence);
  contents.truncate(tokens);
}

void Cache::shed(Sequence sequence, int bits, std::int64_t tokens) {
  cache::Contents& contents = inside().find(sequence);
  check_length(tokens, contents.tokens(), sequence);
  if (bits != 8 && bits != 12)
    core::fail(Code::usage, "a sequence can be shed to 8 or 12 bits, not to {}", bits);
  contents.shed(bits / 4, tokens);
}

std::int64_t Cache::tokens(Sequence sequence) const { return inside().find(sequence).tokens(); }

std::size_t Cache::sequences() const {
  const Impl& impl = inside();
  const std::shared_lock lock(impl.mutex);
  return impl.sequences.size();
}

std::size_t Cache::bytes() const { return inside().store.bytes(); }
std::size_t Cache::free_bytes() const { return inside().store.free_bytes(); }

namespace cache {

SequenceView view_of(const Cache& cache, Sequence sequence) {
  return cache.inside().find(sequence).view();
}
const Layout& layout_of(const Cache& cache) { return cache.inside().store.layout(); }

}  // namespace cache
}  // namespace tamis
