#include "support/cache/cache_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "cache/encode.h"
#include "cache/raw.h"
#include "cache/view.h"
#include "kernels/kernels.h"
#include "lab/numbers/random.h"

namespace tamis::test {
namespace {

float fitting(DType dtype, float x) {
  if (dtype == DType::f16) return to_float(to_f16(x));
  if (dtype == DType::bf16) return to_float(to_bf16(x));
  return x;
}

void write_number(DType dtype, float x, std::byte* to) {
  if (dtype == DType::f16) {
    const f16 y = to_f16(x);
    std::memcpy(to, &y, sizeof y);
  } else if (dtype == DType::bf16) {
    const bf16 y = to_bf16(x);
    std::memcpy(to, &y, sizeof y);
  } else {
    std::memcpy(to, &x, sizeof x);
  }
}

/// Compares one sequence with its model and collects the differences.
class Comparison {
 public:
  Comparison(const Cache& cache, Sequence sequence, const ModelTokens& tokens)
      : heads_(cache.heads()),
        dtype_(cache.options().dtype),
        sinks_(cache.options().sinks),
        levels_(cache.options().bits / 4),
        layout_(cache::layout_of(cache)),
        view_(cache::view_of(cache, sequence)),
        tokens_(tokens),
        places_(tokens.size()) {}

  std::string run() {
    if (view_.tokens != std::ssize(tokens_))
      return fmt::format("{} tokens, not {}", view_.tokens, tokens_.size());
    std::int64_t before = -1;
    for (const cache::RawRun& run : view_.raw) {
      if (run.first <= before) say("raw runs are not ascending");
      before = run.first;
      look_at(run);
    }
    before = -1;
    for (const cache::CodedBlock& block : view_.blocks) {
      if (block.first <= before) say("blocks are not ascending");
      before = block.first;
      look_at(block);
    }
    for (std::size_t t = 0; t < places_.size(); ++t)
      if (places_[t] != 1) say(fmt::format("position {} is in {} places", t, places_[t]));
    return said_;
  }

 private:
  void say(const std::string& what) {
    if (said_.empty()) said_ = what;
  }

  bool place(std::int64_t position) {
    if (position < 0 || position >= std::ssize(places_)) {
      say(fmt::format("position {} is not there", position));
      return false;
    }
    ++places_[static_cast<std::size_t>(position)];
    return true;
  }

  void look_at(const cache::RawRun& run) {
    if (run.count < 1) say("an empty raw run");
    const cache::RawLayout raw(heads_, dtype_);
    for (std::int64_t i = 0; i < run.count; ++i) {
      const std::int64_t position = run.first + (run.place != nullptr ? run.place[i] : i);
      if (!place(position)) return;
      const ModelToken& token = *tokens_[static_cast<std::size_t>(position)];
      for (std::int64_t h = 0; h < heads_.kv_heads; ++h) {
        const std::int64_t row = h * run.head_rows + i;
        compare(run.keys + static_cast<std::size_t>(row) * raw.key_bytes,
                &token.keys[static_cast<std::size_t>(h * heads_.key_dim)], heads_.key_dim,
                position);
        compare(run.values + static_cast<std::size_t>(row) * raw.value_bytes,
                &token.values[static_cast<std::size_t>(h * heads_.value_dim)], heads_.value_dim,
                position);
      }
    }
  }

  void compare(const std::byte* stored, const float* appended, std::int64_t dim,
               std::int64_t position) {
    for (std::int64_t c = 0; c < dim; ++c) {
      const float x = cache::number_at(dtype_, stored + c * size_of(dtype_));
      if (std::bit_cast<std::uint32_t>(x) != std::bit_cast<std::uint32_t>(appended[c]))
        say(fmt::format("raw position {}, channel {}: {}, not {}", position, c, x, appended[c]));
    }
  }

  void look_at(const cache::CodedBlock& block) {
    if (block.tokens < 1 || block.tokens > page_tokens) say("a block's tokens");
    if (block.levels < 2 || block.levels > levels_) say("a block's levels");
    for (int p = 0; p < cache::most_levels; ++p)
      if ((block.page[static_cast<std::size_t>(p)] != nullptr) != (p < block.levels))
        say("a block's pages");
    cache::TokenMask raw{};
    for (std::int64_t h = 0; h < heads_.kv_heads; ++h) {
      const cache::HeadBlock head = cache::head_block(layout_, block.page.data(), block.levels, h);
      if (h == 0) raw = head.head().raw;
      if (head.head().raw != raw) say("heads disagree about which tokens are raw");
      if (head.head().tokens != page_tokens || head.head().levels != levels_)
        say("a record's head");
      for (int levels = 1; levels <= block.levels; ++levels) look_at(block, head, h, levels);
    }
    for (std::int64_t j = 0; j < block.tokens; ++j) {
      const std::int64_t position = block.first + j;
      if (!cache::in_mask(raw, j) && !place(position)) return;
      if (position < std::ssize(tokens_) && cache::in_mask(raw, j) != must_be_raw(position))
        say(fmt::format("position {} is {}raw", position, must_be_raw(position) ? "not " : ""));
    }
  }

  /// Whether a token of a coded block must stay raw: sinks and tokens with numbers too
  /// large for codes.
  [[nodiscard]] bool must_be_raw(std::int64_t position) const {
    const ModelToken& token = *tokens_[static_cast<std::size_t>(position)];
    const auto beyond = [](float x) { return std::abs(x) > cache::largest_coded; };
    return position < sinks_ || std::ranges::any_of(token.keys, beyond) ||
           std::ranges::any_of(token.values, beyond);
  }

  void look_at(const cache::CodedBlock& block, const cache::HeadBlock& head, std::int64_t h,
               int levels) {
    const auto key_dim = static_cast<std::size_t>(heads_.key_dim);
    const auto value_dim = static_cast<std::size_t>(heads_.value_dim);
    // Decoding may write up to the padded sizes.
    std::vector<float> keys(static_cast<std::size_t>(layout_.key_d32 * page_tokens));
    std::vector<float> values(static_cast<std::size_t>(layout_.value_d32 * page_tokens));
    cache::decode_head(kernels::kernels(), head, levels, 0, page_tokens, keys.data(),
                       layout_.key_d32, values.data(), layout_.value_d32);
    const auto level = static_cast<std::size_t>(levels - 1);
    for (std::int64_t j = 0; j < block.tokens; ++j) {
      if (cache::in_mask(head.head().raw, j) || block.first + j >= std::ssize(tokens_)) continue;
      const ModelToken& token = *tokens_[static_cast<std::size_t>(block.first + j)];
      Distance key;
      for (std::size_t c = 0; c < key_dim; ++c)
        key.add(token.keys[static_cast<std::size_t>(h) * key_dim + c],
                keys[static_cast<std::size_t>(j * layout_.key_d32) + c],
                head.head().key_unit * to_float(f16{head.key_centre()[c]}),
                head.head().key_unit * to_float(f16{head.key_step()[c]}));
      Distance value;
      for (std::size_t c = 0; c < value_dim; ++c)
        value.add(token.values[static_cast<std::size_t>(h) * value_dim + c],
                  values[static_cast<std::size_t>(j * layout_.value_d32) + c],
                  head.head().value_unit * to_float(f16{head.value_centre()[c]}), 1);
      const std::string where =
          fmt::format("{} of KV head {} at level {}", block.first + j, h, level);
      key.compare(head.head().key_missing[level], "key " + where);
      value.compare(head.head().value_missing[level], "value " + where);
      say(key.said);
      say(value.said);
    }
  }

  /// ‖(x − x̂)/unit‖ in f64, and how much of it may come from the rounding of decoding.
  struct Distance {
    double squares = 0;
    double rounding_squares = 0;
    std::string said;

    /// Decoding computes fl(m + fl(t·y)), whose error is at most u·|t·y| + u·|x̂|; up to rounding,
    /// |t·y| is at most |x̂| + |m|.
    void add(double appended, double decoded, double centre, double unit) {
      constexpr double u = 0x1p-24;
      squares += std::pow((appended - decoded) / unit, 2);
      rounding_squares +=
          std::pow(u * (2.01 * std::abs(decoded) + 1.01 * std::abs(centre)) / unit, 2);
    }
    void compare(double missing, const std::string& where) {
      // The sums here have a relative rounding error below 2^-40.
      if (!(std::sqrt(squares) <= (missing + std::sqrt(rounding_squares)) * (1 + 0x1p-40)))
        said = fmt::format("{} misses {}, which its header says is at most {}", where,
                           std::sqrt(squares), missing);
    }
  };

  const Heads& heads_;
  DType dtype_;
  std::int64_t sinks_;
  int levels_;
  const cache::Layout& layout_;
  cache::SequenceView view_;
  const ModelTokens& tokens_;
  std::vector<int> places_;
  std::string said_;
};

}  // namespace

std::shared_ptr<const ModelToken> random_token(const Heads& heads, DType dtype, bool large,
                                               std::uint64_t seed) {
  const lab::numbers::Stream stream(seed, lab::numbers::Purpose::test, 0);
  std::uint32_t draw = 0;
  const auto numbers = [&](std::int64_t count) {
    std::vector<float> x(static_cast<std::size_t>(count));
    for (float& each : x) {
      // Channels have different sizes, as those of real keys do.
      const auto channel = static_cast<int>(draw % 7);
      each = fitting(dtype, std::ldexp(static_cast<float>(stream.normal(draw)), channel - 3));
      ++draw;
    }
    return x;
  };
  auto token = std::make_shared<ModelToken>();
  token->keys = numbers(heads.kv_heads * heads.key_dim);
  token->values = numbers(heads.kv_heads * heads.value_dim);
  if (large && dtype != DType::f16 && seed % 5 == 0) {
    std::vector<float>& rows = seed % 2 == 0 ? token->keys : token->values;
    // The largest number that is coded, the smallest that is not, and one far beyond.
    constexpr float sizes[] = {cache::largest_coded, 0x1.02p55F, -0x1p120F};
    rows[seed % rows.size()] = sizes[seed / 5 % 3];
  }
  return token;
}

ModelRows::ModelRows(const std::vector<ModelTokens>& sequences, bool keys, std::int64_t kv_heads,
                     std::int64_t dim, DType dtype, const RowsLayout& layout) {
  std::int64_t all = 0;
  std::int64_t longest = 0;
  for (const ModelTokens& tokens : sequences) {
    first_.push_back(all);
    all += std::ssize(tokens);
    longest = std::max(longest, std::ssize(tokens));
  }
  const std::int64_t row = dim * layout.channel_stride + layout.gap;
  const std::int64_t rows = layout.sequences_apart ? longest : all;
  rows_.dtype = dtype;
  rows_.channel_stride = layout.channel_stride;
  rows_.head_stride = layout.heads_first ? rows * row : row;
  rows_.token_stride = layout.heads_first ? row : kv_heads * row;
  const std::int64_t sequence = rows * kv_heads * row;
  rows_.sequence_stride = layout.sequences_apart ? sequence : 0;
  const std::int64_t elements = sequence * (layout.sequences_apart ? std::ssize(sequences) : 1);
  bytes_.resize(static_cast<std::size_t>((elements + 1) * size_of(dtype)),
                std::byte{0xFF});  // the gaps hold NaN
  rows_.data = bytes_.data();
  for (std::size_t s = 0; s < sequences.size(); ++s)
    for (std::size_t t = 0; t < sequences[s].size(); ++t)
      for (std::int64_t h = 0; h < kv_heads; ++h)
        for (std::int64_t c = 0; c < dim; ++c) {
          const ModelToken& token = *sequences[s][t];
          set(static_cast<std::int64_t>(s), static_cast<std::int64_t>(t), h, c,
              (keys ? token.keys : token.values)[static_cast<std::size_t>(h * dim + c)]);
        }
}

void ModelRows::set(std::int64_t sequence, std::int64_t token, std::int64_t head,
                    std::int64_t channel, float x) {
  const std::int64_t row =
      rows_.sequence_stride == 0 ? first_[static_cast<std::size_t>(sequence)] + token : token;
  const std::int64_t at = sequence * rows_.sequence_stride + row * rows_.token_stride +
                          head * rows_.head_stride + channel * rows_.channel_stride;
  write_number(rows_.dtype, x, bytes_.data() + at * size_of(rows_.dtype));
}

void append(Cache& cache, const std::vector<Sequence>& sequences,
            const std::vector<ModelTokens>& tokens, DType given, const RowsLayout& layout,
            Workspace& workspace) {
  const Heads& heads = cache.heads();
  const ModelRows keys(tokens, true, heads.kv_heads, heads.key_dim, given, layout);
  const ModelRows values(tokens, false, heads.kv_heads, heads.value_dim, given, layout);
  std::vector<std::int64_t> counts;
  counts.reserve(tokens.size());
  for (const ModelTokens& each : tokens) counts.push_back(std::ssize(each));
  cache.append(sequences, counts, keys.rows(), values.rows(), workspace);
}

std::string difference(const Cache& cache, Sequence sequence, const ModelTokens& tokens) {
  return Comparison(cache, sequence, tokens).run();
}

ModelTokens Modelled::draw(std::int64_t tokens, DType fits) {
  ModelTokens made;
  for (std::int64_t t = 0; t < tokens; ++t)
    made.push_back(random_token(cache.heads(), fits, large_, ++drawn_));
  return made;
}

void Modelled::add(Sequence s) {
  cache.add(s);
  model[s] = {};
}

void Modelled::append(Sequence s, std::int64_t tokens) {
  append({s}, {tokens}, cache.options().dtype, {});
}

void Modelled::append(const std::vector<Sequence>& sequences,
                      const std::vector<std::int64_t>& counts, DType given,
                      const RowsLayout& layout) {
  std::vector<ModelTokens> tokens;
  tokens.reserve(counts.size());
  for (const std::int64_t count : counts) tokens.push_back(draw(count, given));
  test::append(cache, sequences, tokens, given, layout, workspace);
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    ModelTokens& all = model.at(sequences[s]);
    all.insert(all.end(), tokens[s].begin(), tokens[s].end());
  }
}

void Modelled::truncate(Sequence s, std::int64_t tokens) {
  cache.truncate(s, tokens);
  model.at(s).resize(static_cast<std::size_t>(tokens));
}

void Modelled::fork(Sequence from, std::int64_t tokens, Sequence to) {
  cache.fork(from, tokens, to);
  const ModelTokens& all = model.at(from);
  model[to] = ModelTokens(all.begin(), all.begin() + tokens);
}

void Modelled::remove(Sequence s) {
  cache.remove(s);
  model.erase(s);
}

void Modelled::save_and_load(Sequence from, const std::string& path, Sequence to) {
  cache.save(from, path);
  cache.load(to, path);
  model[to] = model.at(from);
}

std::string Modelled::difference(Sequence s) const {
  const ModelTokens& tokens = model.at(s);
  if (cache.tokens(s) != std::ssize(tokens))
    return fmt::format("sequence {} has {} tokens, not {}", s, cache.tokens(s), tokens.size());
  const std::string said = test::difference(cache, s, tokens);
  return said.empty() ? said : fmt::format("sequence {}: {}", s, said);
}

std::string Modelled::difference() const {
  if (cache.sequences() != model.size())
    return fmt::format("{} sequences, not {}", cache.sequences(), model.size());
  for (const auto& each : model)
    if (std::string said = difference(each.first); !said.empty()) return said;
  return {};
}

}  // namespace tamis::test
