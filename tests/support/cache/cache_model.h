// A cache as a test knows it: of every sequence the tokens that were appended, as floats, and
// nothing else.
#pragma once

#include <tamis/cache.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tamis::testing {

/// Keys of all KV heads, then values.
struct ModelToken {
  std::vector<float> keys, values;
  bool operator==(const ModelToken&) const = default;
};
using ModelTokens = std::vector<std::shared_ptr<const ModelToken>>;

/// A token made of `seed` alone whose numbers fit `dtype` and, where `large` is set, are now and
/// then beyond what codes hold.
std::shared_ptr<const ModelToken> random_token(const Heads& heads, DType dtype, bool large,
                                               std::uint64_t seed);

/// The order in which rows lie in memory, and gaps between them.
struct RowsLayout {
  bool heads_first = false;  ///< all tokens of a head before the next head
  std::int64_t channel_stride = 1;
  std::int64_t gap = 0;          ///< elements after each row
  bool sequences_apart = false;  ///< sequence_stride is not 0
};

/// Rows as a caller has them.
class ModelRows {
 public:
  ModelRows(const std::vector<ModelTokens>& sequences, bool keys, std::int64_t kv_heads,
            std::int64_t dim, DType dtype, const RowsLayout& layout);
  [[nodiscard]] const tamis::Rows& rows() const { return rows_; }
  /// Overwrites a number.
  void set(std::int64_t sequence, std::int64_t token, std::int64_t head, std::int64_t channel,
           float x);

 private:
  std::vector<std::byte> bytes_;
  std::vector<std::int64_t> first_;  ///< row of each sequence, if they are joined
  tamis::Rows rows_;
};

/// Appends tokens[s] to sequences[s], as `given`.
void append(Cache& cache, const std::vector<Sequence>& sequences,
            const std::vector<ModelTokens>& tokens, DType given, const RowsLayout& layout,
            Workspace& workspace);

/// What is wrong with what attention sees of a sequence, or nothing: every position is in one
/// place, raw rows are the model's bit for bit, and codes are as near to them as the block's header
/// says.
std::string difference(const Cache& cache, Sequence sequence, const ModelTokens& tokens);

/// A cache and the model of it, changed alike.
class Modelled {
 public:
  /// `large`: some tokens have numbers that no code holds.
  Modelled(const Heads& heads, const CacheOptions& options, bool large = false)
      : cache(heads, options), large_(large) {}

  /// Tokens that were not drawn before.
  ModelTokens draw(std::int64_t tokens, DType fits);
  void add(Sequence s);
  void append(Sequence s, std::int64_t tokens);
  void append(const std::vector<Sequence>& sequences, const std::vector<std::int64_t>& counts,
              DType given, const RowsLayout& layout);
  void truncate(Sequence s, std::int64_t tokens);
  void fork(Sequence from, std::int64_t tokens, Sequence to);
  void remove(Sequence s);
  /// Goes by way of a file.
  void save_and_load(Sequence from, const std::string& path, Sequence to);

  /// What is wrong with a sequence, or with any, or nothing.
  [[nodiscard]] std::string difference(Sequence s) const;
  [[nodiscard]] std::string difference() const;
  [[nodiscard]] std::int64_t tokens(Sequence s) const { return std::ssize(model.at(s)); }
  [[nodiscard]] std::size_t used() const { return cache.bytes() - cache.free_bytes(); }

  Cache cache;
  std::map<Sequence, ModelTokens> model;
  Workspace workspace{2};

 private:
  bool large_;
  std::uint64_t drawn_ = 0;
};

}  // namespace tamis::testing
