// A model of a cache for tests: it keeps, as floats, the tokens that were appended to each
// sequence, and nothing else.
#pragma once

#include <tamis/cache.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tamis::test {

/// The numbers of one token: keys of all KV heads, and values of all KV heads.
struct ModelToken {
  std::vector<float> keys, values;
  bool operator==(const ModelToken&) const = default;
};
using ModelTokens = std::vector<std::shared_ptr<const ModelToken>>;

/// A token that depends on `seed` alone. Its numbers are representable in `dtype`; if `large` is
/// set, some of them are too large for codes.
std::shared_ptr<const ModelToken> random_token(const Heads& heads, DType dtype, bool large,
                                               std::uint64_t seed);

/// The order of rows in memory, and the gaps between them.
struct RowsLayout {
  bool heads_first = false;  ///< all tokens of a head before the next head
  std::int64_t channel_stride = 1;
  std::int64_t gap = 0;          ///< elements after each row
  bool sequences_apart = false;  ///< sequence_stride is not 0
};

/// Rows in a caller's memory, with any layout.
class ModelRows {
 public:
  ModelRows(const std::vector<ModelTokens>& sequences, bool keys, std::int64_t kv_heads,
            std::int64_t dim, DType dtype, const RowsLayout& layout);
  [[nodiscard]] const tamis::Rows& rows() const { return rows_; }
  /// Overwrites one number.
  void set(std::int64_t sequence, std::int64_t token, std::int64_t head, std::int64_t channel,
           float x);

 private:
  std::vector<std::byte> bytes_;
  std::vector<std::int64_t> first_;  ///< first row of each sequence, unless sequences lie apart
  tamis::Rows rows_;
};

/// Appends tokens[s] to sequences[s], with the rows given in dtype `given`.
void append(Cache& cache, const std::vector<Sequence>& sequences,
            const std::vector<ModelTokens>& tokens, DType given, const RowsLayout& layout,
            Workspace& workspace);

/// Compares what attention sees of a sequence with the model: every position must lie in exactly
/// one place, raw rows must equal the model's bit for bit, and codes must be as close to them as
/// the block's header says. Returns a description of the first difference found, or "".
std::string difference(const Cache& cache, Sequence sequence, const ModelTokens& tokens);

/// A cache together with its model; every function changes both in the same way.
class Modelled {
 public:
  /// With `large`, some tokens have numbers that are too large for codes.
  Modelled(const Heads& heads, const CacheOptions& options, bool large = false)
      : cache(heads, options), large_(large) {}

  /// Draws new tokens, different from all earlier ones.
  ModelTokens draw(std::int64_t tokens, DType fits);
  void add(Sequence s);
  void append(Sequence s, std::int64_t tokens);
  void append(const std::vector<Sequence>& sequences, const std::vector<std::int64_t>& counts,
              DType given, const RowsLayout& layout);
  void truncate(Sequence s, std::int64_t tokens);
  void fork(Sequence from, std::int64_t tokens, Sequence to);
  void remove(Sequence s);
  /// Saves sequence `from` to the file `path` and loads it as sequence `to`.
  void save_and_load(Sequence from, const std::string& path, Sequence to);

  /// A description of a difference between cache and model, in one sequence or in any, or "".
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

}  // namespace tamis::test
