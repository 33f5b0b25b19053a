// Saved sequences: they are restored exactly, and damaged or foreign files are refused.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <tamis/cache.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "cache/encode.h"
#include "cache/file.h"
#include "cache/inside.h"
#include "core/hash.h"
#include "kernels/kernels.h"
#include "support/cache/cache_model.h"
#include "support/io_files.h"

namespace tamis::test {
namespace {

using test::Modelled;

constexpr Heads heads{.query_heads = 4, .kv_heads = 2, .key_dim = 5, .value_dim = 3, .scale = 1.0F};

CacheOptions small_options() {
  CacheOptions options;
  options.raw_below = 0;
  options.bits = 8;
  options.sinks = 2;
  return options;
}

/// The cache's reason for refusing a file, without the file's name, or "".
std::string refusal(const Cache& cache, std::string_view file) {
  const std::size_t used = cache.bytes() - cache.free_bytes();
  std::string said;
  try {
    (void)cache::ContentsFile::read(*source_of(file), cache.inside());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::input) << error.what();
    said = error.what();
    EXPECT_TRUE(said.starts_with("input: ")) << said;
    said.erase(0, std::string_view("input: ").size());
  }
  EXPECT_EQ(cache.bytes() - cache.free_bytes(), used);
  return said;
}

std::string saved(const Cache& cache, Sequence sequence) {
  const Folder folder;
  cache.save(sequence, folder / "s");
  EXPECT_EQ(folder.entries(), 1U);
  return read_text(folder / "s");
}

/// The layout of a file, so that a test can write anything into it and correct the checksums.
class Opened {
 public:
  Opened(const Cache& cache, std::string file) : cache_(cache), text(std::move(file)) {
    const cache::Layout& layout = cache::layout_of(cache);
    const cache::RawLayout raw(cache.heads(), cache.options().dtype);
    const auto token = static_cast<std::size_t>(raw.kv_heads) * (raw.key_bytes + raw.value_bytes);
    end_part(104);
    const auto blocks = number<std::int64_t>(blocks_at);
    list = parts_.back() + 8;
    end_part(12 * static_cast<std::size_t>(blocks));
    std::int64_t left = number<std::int64_t>(tokens_at);
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::size_t entry = list + 12 * static_cast<std::size_t>(b);
      left -= number<std::int32_t>(entry);
      std::size_t bytes = token * static_cast<std::size_t>(number<std::int32_t>(entry + 8));
      for (int p = 0; p < number<std::int32_t>(entry + 4); ++p) bytes += layout.page_bytes(p);
      block.push_back(parts_.back() + 8);
      end_part(bytes);
    }
    if (number<std::int64_t>(kept_at) == 1) {
      raw_page.push_back(parts_.back() + 8);
      end_part(128 * token);
    }
    for (; left > 0; left -= 128) {
      raw_page.push_back(parts_.back() + 8);
      end_part(static_cast<std::size_t>(std::min<std::int64_t>(left, 128)) * token);
    }
    EXPECT_EQ(parts_.back() + 8, text.size());
  }

  static constexpr std::size_t blocks_at = 88;
  static constexpr std::size_t tokens_at = 80;
  static constexpr std::size_t kept_at = 96;

  template <class T>
  [[nodiscard]] T number(std::size_t at) const {
    T x;
    std::memcpy(&x, text.data() + at, sizeof x);
    return x;
  }
  /// The file with x at `at` and with correct checksums.
  template <class T>
  [[nodiscard]] std::string with(std::size_t at, const T& x) const {
    std::string changed = text;
    std::memcpy(changed.data() + at, &x, sizeof x);
    std::size_t begin = 0;
    for (const std::size_t end : parts_) {
      core::Hash hash;
      hash.add(std::string_view(changed).substr(begin, end - begin));
      const std::uint64_t sum = hash.value();
      std::memcpy(changed.data() + end, &sum, sizeof sum);
      begin = end + 8;
    }
    return changed;
  }
  template <class T>
  [[nodiscard]] std::string refusal_with(std::size_t at, const T& x) const {
    return refusal(cache_, with(at, x));
  }

 private:
  void end_part(std::size_t bytes) {
    const std::size_t begin = parts_.empty() ? 0 : parts_.back() + 8;
    parts_.push_back(begin + bytes);
  }

  const Cache& cache_;
  std::vector<std::size_t> parts_;  ///< the offset of each checksum

 public:
  std::string text;
  std::size_t list = 0;               ///< offset of the list of blocks
  std::vector<std::size_t> block;     ///< offset of each block
  std::vector<std::size_t> raw_page;  ///< offset of each raw page
};

/// Two blocks, the first with raw tokens and the last with its raw page, and a raw tail.
struct Small {
  Modelled x{heads, small_options()};
  Small() {
    x.add(1);
    x.append(1, 261);
  }
  [[nodiscard]] std::string file() const { return saved(x.cache, 1); }
};

TEST(CacheFile, ALoadedSequenceGoesOnAsTheSavedOne) {
  const Folder folder;
  for (const std::int64_t tokens : {0, 1, 128, 300, 1030, 1300})
    for (const std::int64_t cut : {0, 5, 200, 256}) {
      CacheOptions options;
      options.raw_below = cut == 5 ? 1024 : 0;
      Modelled x(heads, options, true);
      x.add(1);
      x.append(1, tokens);
      if (cut > 0 && cut < tokens) {
        x.truncate(1, tokens - cut);
        x.append(1, cut / 2);
      }
      x.cache.shed(1, 8, x.tokens(1) / 2);
      x.save_and_load(1, folder / "s", 2);
      const auto same = [&] {
        EXPECT_EQ(x.difference(), "");
        EXPECT_EQ(saved(x.cache, 1), saved(x.cache, 2));
      };
      same();
      const std::int64_t less = x.tokens(1) - std::min<std::int64_t>(x.tokens(1), 50);
      for (const Sequence s : {1, 2}) x.truncate(s, less);
      same();
      const auto more = x.draw(200, DType::bf16);
      for (const Sequence s : {1, 2}) {
        test::append(x.cache, {s}, {more}, DType::bf16, {}, x.workspace);
        x.model[s].insert(x.model[s].end(), more.begin(), more.end());
      }
      same();
    }
}

TEST(CacheFile, TheLargestAndTheLeastNumbersThatAreCodedComeBack) {
  CacheOptions options = small_options();
  options.dtype = DType::f32;
  options.bits = 16;
  const float large = cache::largest_coded;
  for (const float most : {large, std::nextafter(large, 0.0F), 1.0F, 0x1p-126F, 0x1p-149F, 0.0F})
    for (const std::size_t others : {1, 2, 64}) {  // one token in `others` is positive
      Modelled x(heads, options);
      x.add(1);
      test::ModelTokens tokens;
      for (std::size_t t = 0; t < 128; ++t) {
        const float number = t % others == 0 ? most : -most;
        tokens.push_back(std::make_shared<test::ModelToken>(
            test::ModelToken{std::vector<float>(10, number), std::vector<float>(6, number)}));
      }
      test::append(x.cache, {1}, {tokens}, DType::f32, {}, x.workspace);
      x.model[1] = tokens;
      const Folder folder;
      x.save_and_load(1, folder / "s", 2);
      EXPECT_EQ(x.difference(), "") << most;
    }
}

TEST(CacheFile, EveryFlippedBitIsRefused) {
  const Small small;
  std::string file = small.file();
  for (std::size_t at = 0; at < file.size(); ++at)
    for (unsigned bit = 0; bit < 8; ++bit) {
      if (at >= 104 + 8 + 24 + 8 && bit != at % 8) continue;
      const char flip = static_cast<char>(1U << bit);
      file[at] = static_cast<char>(file[at] ^ flip);
      EXPECT_NE(refusal(small.x.cache, file), "") << "byte " << at << ", bit " << bit;
      file[at] = static_cast<char>(file[at] ^ flip);
    }
  EXPECT_EQ(refusal(small.x.cache, file), "");
}

/// Every position lies somewhere, and all numbers are finite.
void expect_readable(const Cache& cache, const cache::SequenceView& view) {
  const cache::Layout& layout = cache::layout_of(cache);
  std::vector<int> places(static_cast<std::size_t>(view.tokens));
  for (const cache::RawRun& run : view.raw)
    for (std::int32_t i = 0; i < run.count; ++i)
      ++places.at(static_cast<std::size_t>(run.first + (run.place != nullptr ? run.place[i] : i)));
  std::vector<float> keys(static_cast<std::size_t>(128 * layout.key_d32));
  std::vector<float> values(static_cast<std::size_t>(128 * layout.value_d32));
  for (const cache::CodedBlock& block : view.blocks)
    for (std::int64_t h = 0; h < layout.kv_heads; ++h) {
      const cache::HeadBlock head = cache::head_block(layout, block.page.data(), block.levels, h);
      cache::decode_head(kernels::kernels(), head, block.levels, 0, 128, keys.data(),
                         layout.key_d32, values.data(), layout.value_d32);
      const auto finite = [](float x) { return std::isfinite(x); };
      EXPECT_TRUE(std::ranges::all_of(keys, finite) && std::ranges::all_of(values, finite));
      for (std::int32_t j = 0; h == 0 && j < block.tokens; ++j)
        if (!cache::in_mask(head.head().raw, j))
          ++places.at(static_cast<std::size_t>(block.first + j));
    }
  EXPECT_TRUE(std::ranges::all_of(places, [](int n) { return n == 1; }));
}

TEST(CacheFile, FlippedBitsWithRightChecksumsAreRefusedOrCanBeRead) {
  const Small small;
  const Opened file(small.x.cache, small.file());
  const cache::Layout& layout = cache::layout_of(small.x.cache);
  const auto claims = [&](std::size_t at) {  // everything but codes and rows
    if (at < file.block[0]) return true;
    for (const std::size_t block : file.block)
      for (const std::size_t head : {0, 1})
        if (at - block - head * layout.head_bytes(0) < layout.key_plane0) return true;
    return false;
  };
  std::int64_t accepted = 0;
  for (std::size_t at = 0; at < file.text.size(); at += claims(at) ? 1 : 31) {
    const char flip = static_cast<char>(1U << (at % 8));
    const std::string changed = file.with(at, static_cast<char>(file.text[at] ^ flip));
    try {
      const auto contents = cache::ContentsFile::read(*source_of(changed), small.x.cache.inside());
      ++accepted;
      expect_readable(small.x.cache, contents->view());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::input) << error.what();
    }
  }
  EXPECT_GT(accepted, 0);  // for instance changed codes
}

TEST(CacheFile, EveryTruncationAndEveryTailIsRefused) {
  const Small small;
  const std::string file = small.file();
  for (std::size_t length = 0; length < file.size(); length += length < 1000 ? 1 : 97)
    EXPECT_NE(refusal(small.x.cache, std::string_view(file).substr(0, length)), "") << length;
  EXPECT_EQ(
      refusal(small.x.cache, file + '\0'),
      fmt::format("is damaged: it has {} bytes and should have {}", file.size() + 1, file.size()));
}

TEST(CacheFile, AnOutlineThatContradictsItselfIsRefused) {
  const Small small;
  const Opened file(small.x.cache, small.file());
  EXPECT_EQ(refusal(small.x.cache, file.with(0, 't')), "");
  EXPECT_EQ(file.refusal_with(0, 'T'), "is no saved sequence: it does not begin with 'tamis kv'");
  EXPECT_EQ(file.refusal_with(8, std::uint32_t{2}),
            "is a saved sequence of version 2; this tamis reads version 1");
  const std::string strange = "has a head that tamis does not write";
  EXPECT_EQ(file.refusal_with(Opened::kept_at, std::int64_t{2}), strange);
  EXPECT_EQ(file.refusal_with(Opened::tokens_at, std::int64_t{-1}), strange);
  EXPECT_EQ(file.refusal_with(Opened::tokens_at, std::int64_t{1} << 41), strange);
  EXPECT_EQ(file.refusal_with(23, 'x'), strange);
  for (const std::int64_t blocks :
       {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1},
        std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 40})
    EXPECT_EQ(file.refusal_with(Opened::blocks_at, blocks),
              fmt::format("is damaged: it ends before its list of {} blocks does", blocks));
  for (const std::int64_t tokens : {std::int64_t{262}, std::int64_t{1} << 40})
    EXPECT_EQ(
        file.refusal_with(Opened::tokens_at, tokens),
        fmt::format("is damaged: it has {} bytes and its blocks need more", file.text.size()));
  EXPECT_EQ(file.refusal_with(Opened::tokens_at, std::int64_t{255}),
            "has blocks of 256 tokens in all, but 255 tokens");
  for (const std::int32_t tokens : {0, -1, 129})
    EXPECT_EQ(file.refusal_with(file.list, tokens),
              fmt::format(
                  "has a block of {} tokens, 2 levels and 2 raw tokens, which tamis does not write",
                  tokens));
  for (const std::int32_t levels : {1, 3, -1})
    EXPECT_EQ(
        file.refusal_with(file.list + 4, levels),
        fmt::format(
            "has a block of 128 tokens, {} levels and 2 raw tokens, which tamis does not write",
            levels));
  for (const std::int32_t raw : {-1, 129})
    EXPECT_EQ(
        file.refusal_with(file.list + 8, raw),
        fmt::format(
            "has a block of 128 tokens, 2 levels and {} raw tokens, which tamis does not write",
            raw));
  EXPECT_EQ(file.refusal_with(file.list + 12, std::int32_t{127}),  // the last block
            "has the raw tokens of a last block that is not whole");
}

TEST(CacheFile, ABlockThatNoCacheWritesIsRefused) {
  const Small small;
  const Opened file(small.x.cache, small.file());
  const cache::Layout& layout = cache::layout_of(small.x.cache);
  constexpr float infinite = std::numeric_limits<float>::infinity();
  const auto refused = [&](std::size_t at, const auto& x, const std::string& what) {
    for (const std::size_t head : {0, 1})
      EXPECT_EQ(
          file.refusal_with(file.block[0] + head * layout.head_bytes(0) + at, x),
          fmt::format(
              "{} of KV head {} of a block is none that tamis writes; save the sequence again",
              what, head));
  };
  for (const std::size_t unit : {0, 4})
    for (const float x : {0.0F, -1.0F, 3.0F, 0x1p-101F, 0x1p42F, infinite, std::nanf("")})
      refused(unit, x, "a unit");
  for (std::size_t norm = 8; norm < 60; norm += 4)
    for (const float x : {-1.0F, 0x1p63F, infinite, std::nanf("")}) refused(norm, x, "a norm");
  refused(offsetof(cache::BlockHead, key_missing) + 8, 1.0F, "a norm");
  refused(offsetof(cache::BlockHead, value_missing) + 12, 1.0F, "a norm");
  refused(offsetof(cache::BlockHead, raw_tokens), std::uint8_t{3}, "the list of raw tokens");
  refused(offsetof(cache::BlockHead, tokens), std::uint8_t{127}, "the number of tokens");
  refused(offsetof(cache::BlockHead, levels), std::uint8_t{3}, "the number of levels");
  refused(offsetof(cache::BlockHead, zero), std::uint8_t{1}, "the number of levels");
  for (const std::uint32_t raw : {0U, 1U, 5U, 7U})
    EXPECT_NE(file.refusal_with(file.block[0] + offsetof(cache::BlockHead, raw), raw)
                  .find("the list of raw"),
              std::string::npos);
  for (const std::uint16_t step :
       std::initializer_list<std::uint16_t>{0, 0x03FF, 0x8400, 0x7401, 0x7C00, 0x7E00, 0xBC00}) {
    refused(layout.key_step + 2, step, "a centre or step of keys");
    refused(layout.value_step + 2, step, "a centre or step of values");
  }
  for (const std::uint16_t centre :
       std::initializer_list<std::uint16_t>{0x7801, 0xF801, 0x7C00, 0xFC00, 0x7E00}) {
    refused(layout.key_centre, centre, "a centre or step of keys");
    refused(layout.value_centre, centre, "a centre or step of values");
  }
  refused(layout.key_centre + 10, std::uint16_t{1}, "a centre or step of keys");
  refused(layout.value_step + 6, std::uint16_t{1}, "a centre or step of values");
  const std::string infinite_row =
      "a raw token has a number that is not finite, which no cache keeps";
  EXPECT_EQ(file.refusal_with(file.raw_page[0], std::uint16_t{0x7F80}), infinite_row);
  EXPECT_EQ(file.refusal_with(file.raw_page[1] + 2, std::uint16_t{0xFFC0}), infinite_row);
  EXPECT_EQ(file.refusal_with(file.block[1] - 10, std::uint16_t{0x7F80}),
            infinite_row);  // of the first block
}

TEST(CacheFile, BelongsToACacheOfItsHeadsAndOptions) {
  const Small small;
  const std::string file = small.file();
  const auto refused = [&](const Heads& other, const CacheOptions& options) {
    const Cache cache(other, options);
    return refusal(cache, file);
  };
  EXPECT_EQ(refused(heads, small_options()), "");
  Heads other = heads;
  other.query_heads = 2;
  EXPECT_EQ(refused(other, small_options()),
            "was saved from a cache whose query_heads is 4; this cache's is 2");
  other = heads;
  other.kv_heads = 1;
  EXPECT_EQ(refused(other, small_options()),
            "was saved from a cache whose kv_heads is 2; this cache's is 1");
  other = heads;
  other.key_dim = 6;
  EXPECT_EQ(refused(other, small_options()),
            "was saved from a cache whose key_dim is 5; this cache's is 6");
  other = heads;
  other.value_dim = 4;
  EXPECT_EQ(refused(other, small_options()),
            "was saved from a cache whose value_dim is 3; this cache's is 4");
  other = heads;
  other.scale = 2;
  EXPECT_EQ(refused(other, small_options()),
            "was saved from a cache whose scale is 1; this cache's is 2");
  CacheOptions options = small_options();
  options.bits = 16;
  EXPECT_EQ(refused(heads, options), "was saved from a cache whose bits is 8; this cache's is 16");
  options = small_options();
  options.dtype = DType::f16;
  EXPECT_EQ(refused(heads, options),
            "was saved from a cache whose dtype is bf16; this cache's is f16");
  options = small_options();
  options.sinks = 3;
  EXPECT_EQ(refused(heads, options), "was saved from a cache whose sinks is 2; this cache's is 3");
  options = small_options();
  options.raw_below = 7;
  EXPECT_EQ(refused(heads, options),
            "was saved from a cache whose raw_below is 0; this cache's is 7");
}

TEST(CacheFile, AnotherKindOfFileOrNoneIsNamed) {
  const Folder folder;
  Cache cache(heads, small_options());
  EXPECT_EQ(sentence([&] { cache.load(1, folder / "s"); }),
            folder / "s" + ": there is no such file");
  write_text(folder / "s", "text");
  EXPECT_EQ(sentence([&] { cache.load(1, folder / "s"); }),
            folder / "s" + ": is no saved sequence: it has only 4 bytes");
  cache.add(1);
  EXPECT_EQ(sentence([&] { cache.load(1, folder / "s"); }, Code::usage),
            "the cache has a sequence 1 already; remove it first or choose another name");
  EXPECT_EQ(sentence([&] { cache.save(1, folder / "none/s"); }, Code::io),
            folder / "none/s" + ": there is no folder " + folder / "none" + "; make it first");
}

}  // namespace
}  // namespace tamis::test
