#include "cache/file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cache/checks.h"
#include "core/atomic_file.h"
#include "core/fail.h"
#include "core/hash.h"

static_assert(std::endian::native == std::endian::little,
              "files are written as numbers lie in memory");

namespace tamis::cache {
namespace {

constexpr std::array<char, 8> file_magic{'t', 'a', 'm', 'i', 's', ' ', 'k', 'v'};
constexpr std::uint32_t file_version = 1;

struct FileHead {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t bits;
  std::array<char, 8> dtype;  ///< the name of the type, padded with zeros
  std::int64_t query_heads, kv_heads, key_dim, value_dim;
  float scale;
  std::uint32_t zero;
  std::int64_t sinks, raw_below;
  std::int64_t tokens;
  std::int64_t blocks;
  std::int64_t kept;  ///< 1 if the file holds the last block's raw page, else 0
};
static_assert(sizeof(FileHead) == 104 && std::is_trivially_copyable_v<FileHead>);

struct BlockEntry {
  std::int32_t tokens;  ///< tokens of the block that the sequence still has
  std::int32_t levels;
  std::int32_t raw_tokens;
};
static_assert(sizeof(BlockEntry) == 12);

constexpr std::int64_t checksum_bytes = sizeof(std::uint64_t);

FileHead head_of(const Cache::Impl& cache) {
  FileHead head{};
  head.magic = file_magic;
  head.version = file_version;
  head.bits = static_cast<std::uint32_t>(cache.options.bits);
  name_of(cache.options.dtype).copy(head.dtype.data(), head.dtype.size());
  head.query_heads = cache.heads.query_heads;
  head.kv_heads = cache.heads.kv_heads;
  head.key_dim = cache.heads.key_dim;
  head.value_dim = cache.heads.value_dim;
  head.scale = cache.heads.scale;
  head.sinks = cache.options.sinks;
  head.raw_below = cache.options.raw_below;
  return head;
}

/// Writes bytes to a file, with a checksum after each part.
class Writer {
 public:
  explicit Writer(const std::string& path) : file_(path) {}
  void put(std::span<const std::byte> bytes) {
    hash_.add(bytes);
    file_.write(bytes);
  }
  void end_part() {
    const std::uint64_t checksum = hash_.value();
    file_.write(std::as_bytes(std::span(&checksum, 1)));
    hash_ = core::Hash();
  }
  void commit() { file_.commit(); }

 private:
  core::AtomicFile file_;
  core::Hash hash_;
};

class Reader {
 public:
  Reader(const core::ByteSource& source, Checksums checksums)
      : source_(source), checksums_(checksums) {}
  void get(std::span<std::byte> bytes) {
    source_.read_at(at_, bytes);
    hash_.add(bytes);
    at_ += std::ssize(bytes);
  }
  void end_part() {
    std::uint64_t checksum = 0;
    source_.read_at(at_, std::as_writable_bytes(std::span(&checksum, 1)));
    at_ += checksum_bytes;
    if (checksums_ == Checksums::compared && checksum != hash_.value())
      core::fail(Code::input,
                 "{}: is damaged: its checksum before byte {} is {:016x} and should be {:016x}",
                 source_.name(), at_, checksum, hash_.value());
    hash_ = core::Hash();
  }

 private:
  const core::ByteSource& source_;
  Checksums checksums_;
  std::int64_t at_ = 0;
  core::Hash hash_;
};

/// Calls use(bytes) for the first `count` keys and the first `count` values of each KV head, in a
/// raw page that has room for `rows` tokens.
template <class Byte, class Use>
void for_each_row(const RawLayout& raw, Byte* page, std::int64_t rows, std::int64_t count,
                  const Use& use) {
  const auto n = static_cast<std::size_t>(count);
  for (std::int64_t h = 0; h < raw.kv_heads; ++h) {
    use(std::span(raw.key(page, rows, h, 0), n * raw.key_bytes));
    use(std::span(raw.value(page, rows, h, 0), n * raw.value_bytes));
  }
}

void read_rows(Reader& reader, const RawLayout& raw, std::byte* page, std::int64_t rows,
               std::int64_t count) {
  for_each_row(raw, page, rows, count, [&](std::span<std::byte> bytes) { reader.get(bytes); });
}

void check_finite(const std::string& file, const RawLayout& raw, const std::byte* page,
                  std::int64_t rows, std::int64_t count) {
  for_each_row(raw, page, rows, count, [&](std::span<const std::byte> bytes) {
    if (!all_finite(raw.dtype, bytes.data(), std::ssize(bytes) / size_of(raw.dtype)))
      core::fail(Code::input,
                 "{}: a raw token has a number that is not finite, which no cache keeps", file);
  });
}

/// Throws `input` if the file was saved from a cache whose heads or options differ from this one's.
void check_same_cache(const std::string& file, const FileHead& head, const FileHead& own) {
  const auto expect = [&](const char* what, auto saved, auto here) {
    if (saved != here)
      core::fail(Code::input, "{}: was saved from a cache whose {} is {}; this cache's is {}", file,
                 what, saved, here);
  };
  const auto name = [](const std::array<char, 8>& text) {
    return std::string_view(text.data(), strnlen(text.data(), text.size()));
  };
  expect("query_heads", head.query_heads, own.query_heads);
  expect("kv_heads", head.kv_heads, own.kv_heads);
  expect("key_dim", head.key_dim, own.key_dim);
  expect("value_dim", head.value_dim, own.value_dim);
  expect("scale", head.scale, own.scale);
  expect("bits", head.bits, own.bits);
  expect("dtype", name(head.dtype), name(own.dtype));
  expect("sinks", head.sinks, own.sinks);
  expect("raw_below", head.raw_below, own.raw_below);
  if (head.dtype != own.dtype || head.zero != 0)
    core::fail(Code::input, "{}: has a head that tamis does not write", file);
}

/// The head and the list of blocks of a file, checked as far as possible without
/// reading the blocks.
struct Outline {
  FileHead head;
  std::vector<BlockEntry> blocks;
  std::int64_t raw_tokens;
};

FileHead read_head(const core::ByteSource& source, Reader& reader, const FileHead& own) {
  const std::string& file = source.name();
  FileHead head{};
  if (source.size() < static_cast<std::int64_t>(sizeof head) + checksum_bytes)
    core::fail(Code::input, "{}: is no saved sequence: it has only {} bytes", file, source.size());
  reader.get(std::as_writable_bytes(std::span(&head, 1)));
  if (head.magic != file_magic)
    core::fail(Code::input, "{}: is no saved sequence: it does not begin with '{}'", file,
               std::string_view(file_magic.data(), file_magic.size()));
  if (head.version != file_version)
    core::fail(Code::input, "{}: is a saved sequence of version {}; this tamis reads version {}",
               file, head.version, file_version);
  reader.end_part();
  check_same_cache(file, head, own);
  if (head.tokens < 0 || head.tokens > most_tokens || head.kept < 0 || head.kept > 1)
    core::fail(Code::input, "{}: has a head that tamis does not write", file);
  return head;
}

Outline read_outline(const core::ByteSource& source, Reader& reader, const Cache::Impl& cache) {
  const std::string& file = source.name();
  Outline outline{read_head(source, reader, head_of(cache)), {}, 0};
  const FileHead& head = outline.head;
  const std::int64_t left =
      source.size() - static_cast<std::int64_t>(sizeof head) - 2 * checksum_bytes;
  if (head.blocks < 0 || head.blocks > left / static_cast<std::int64_t>(sizeof(BlockEntry)))
    core::fail(Code::input, "{}: is damaged: it ends before its list of {} blocks does", file,
               head.blocks);
  outline.blocks.resize(static_cast<std::size_t>(head.blocks));
  reader.get(std::as_writable_bytes(std::span(outline.blocks)));
  reader.end_part();
  std::int64_t coded = 0;
  for (const BlockEntry& block : outline.blocks) {
    if (block.tokens < 1 || block.tokens > page_tokens || block.levels < 2 ||
        block.levels > cache.store.levels() || block.raw_tokens < 0 ||
        block.raw_tokens > page_tokens)
      core::fail(
          Code::input,
          "{}: has a block of {} tokens, {} levels and {} raw tokens, which tamis does not write",
          file, block.tokens, block.levels, block.raw_tokens);
    coded += block.tokens;
  }
  outline.raw_tokens = head.tokens - coded;
  if (outline.raw_tokens < 0)
    core::fail(Code::input, "{}: has blocks of {} tokens in all, but {} tokens", file, coded,
               head.tokens);
  if (head.kept == 1 && (outline.blocks.empty() || outline.blocks.back().tokens != page_tokens))
    core::fail(Code::input, "{}: has the raw tokens of a last block that is not whole", file);
  return outline;
}

/// Throws unless the file has exactly as many bytes as its outline requires. This limits the memory
/// that loading takes to a small multiple of the file's size.
void check_size(const core::ByteSource& source, const Outline& outline, const Store& store) {
  const RawLayout& raw = store.raw();
  const std::int64_t token =
      raw.kv_heads * static_cast<std::int64_t>(raw.key_bytes + raw.value_bytes);
  // This cannot overflow: every term is far below 2^62, and the sum is checked after each.
  std::int64_t bytes = static_cast<std::int64_t>(sizeof(FileHead)) + 2 * checksum_bytes;
  const auto add = [&](std::int64_t more) {
    bytes += more;
    if (bytes > source.size())
      core::fail(Code::input, "{}: is damaged: it has {} bytes and its blocks need more",
                 source.name(), source.size());
  };
  add(std::ssize(outline.blocks) * static_cast<std::int64_t>(sizeof(BlockEntry)));
  for (const BlockEntry& block : outline.blocks) {
    for (int p = 0; p < block.levels; ++p)
      add(static_cast<std::int64_t>(store.layout().page_bytes(p)));
    add(block.raw_tokens * token + checksum_bytes);
  }
  if (outline.head.kept == 1) add(page_tokens * token + checksum_bytes);
  if (outline.raw_tokens > source.size() / token) add(source.size());
  add(outline.raw_tokens * token);
  add((outline.raw_tokens + page_tokens - 1) / page_tokens * checksum_bytes);
  if (bytes != source.size())
    core::fail(Code::input, "{}: is damaged: it has {} bytes and should have {}", source.name(),
               source.size(), bytes);
}

}  // namespace

void ContentsFile::write(const std::string& path, const Cache::Impl& cache,
                         const Contents& contents) {
  const RawLayout& raw = cache.store.raw();
  FileHead head = head_of(cache);
  head.tokens = contents.tokens_;
  head.blocks = std::ssize(contents.blocks_);
  head.kept = contents.kept_ != nullptr ? 1 : 0;
  Writer file(path);
  file.put(std::as_bytes(std::span(&head, 1)));
  file.end_part();
  for (std::size_t b = 0; b < contents.blocks_.size(); ++b) {
    const BlockEntry entry{contents.coded_[b].tokens, contents.coded_[b].levels,
                           contents.blocks_[b]->raw_tokens};
    file.put(std::as_bytes(std::span(&entry, 1)));
  }
  file.end_part();
  const auto put_rows = [&](const std::byte* page, std::int64_t rows, std::int64_t count) {
    for_each_row(raw, page, rows, count,
                 [&](std::span<const std::byte> bytes) { file.put(bytes); });
  };
  for (std::size_t b = 0; b < contents.blocks_.size(); ++b) {
    const Block& block = *contents.blocks_[b];
    for (int p = 0; p < contents.coded_[b].levels; ++p)
      file.put({block.page[static_cast<std::size_t>(p)].at, cache.store.layout().page_bytes(p)});
    if (block.raw_tokens > 0) put_rows(block.raw.at, block.raw_rows, block.raw_tokens);
    file.end_part();
  }
  if (contents.kept_ != nullptr) {
    put_rows(contents.kept_->page.at, page_tokens, page_tokens);
    file.end_part();
  }
  for (std::size_t p = 0; p < contents.pages_.size(); ++p) {
    const RawRun& run = contents.runs_[contents.block_runs_ + p];
    put_rows(contents.pages_[p]->page.at, page_tokens, run.count);
    file.end_part();
  }
  file.commit();
}

std::unique_ptr<Contents> ContentsFile::read(const core::ByteSource& source, Cache::Impl& cache,
                                             Checksums checksums) {
  const std::string& file = source.name();
  Store& store = cache.store;
  const RawLayout& raw = store.raw();
  Reader reader(source, checksums);
  const Outline outline = read_outline(source, reader, cache);
  check_size(source, outline, store);
  auto contents = std::make_unique<Contents>(store);
  const std::int64_t pages = (outline.raw_tokens + page_tokens - 1) / page_tokens;
  contents->make_room(outline.blocks.size(), static_cast<std::size_t>(pages) + 1);
  std::int64_t first = 0;
  for (const BlockEntry& entry : outline.blocks) {
    const auto drop = [&](Block* block) { store.drop(block, 0, entry.levels); };
    std::unique_ptr<Block, decltype(drop)> block(store.make_block(entry.levels, entry.raw_tokens),
                                                 drop);
    for (int p = 0; p < entry.levels; ++p)
      reader.get({block->page[static_cast<std::size_t>(p)].at, store.layout().page_bytes(p)});
    if (entry.raw_tokens > 0)
      read_rows(reader, raw, block->raw.at, block->raw_rows, entry.raw_tokens);
    reader.end_part();
    const std::int64_t sinks =
        std::clamp<std::int64_t>(cache.options.sinks - first, 0, page_tokens);
    const TokenMask mask = check_records(file, store.layout(), store.levels(), sinks,
                                         entry.raw_tokens, block->page[0].at);
    if (entry.raw_tokens > 0) {
      check_finite(file, raw, block->raw.at, block->raw_rows, entry.raw_tokens);
      store.place_raw(*block, mask);
    }
    contents->list_block(*block, entry.tokens, entry.levels);
    contents->blocks_.push_back(block.release());
    first += entry.tokens;
  }
  const auto read_page = [&](std::int64_t count) {
    RawPage* const page = store.make_raw_page();
    contents->pages_.push_back(page);  // has capacity
    read_rows(reader, raw, page->page.at, page_tokens, count);
    reader.end_part();
    check_finite(file, raw, page->page.at, page_tokens, count);
  };
  if (outline.head.kept == 1) {
    read_page(page_tokens);
    contents->kept_ = contents->pages_.back();
    contents->pages_.pop_back();
  }
  for (std::int64_t left = outline.raw_tokens; left > 0; left -= page_tokens)
    read_page(std::min(left, page_tokens));
  contents->tokens_ = outline.head.tokens;
  contents->list_raw_pages();
  return contents;
}

}  // namespace tamis::cache

namespace tamis {

void Cache::save(Sequence sequence, const std::string& path) const {
  const Impl& impl = inside();
  const cache::Contents& contents = impl.find(sequence);
  cache::with_memory([&] { cache::ContentsFile::write(path, impl, contents); });
}

void Cache::load(Sequence sequence, const std::string& path) {
  Impl& impl = inside();
  impl.check_absent(sequence);
  cache::with_memory(
      [&] { impl.insert(sequence, cache::ContentsFile::read(*core::open_file(path), impl)); });
}

}  // namespace tamis
