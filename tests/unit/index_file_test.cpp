// Index files: what is saved comes back, and whatever is not what it was is refused.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <tamis/sieve.h>

#include <cstring>
#include <map>
#include <vector>

#include "core/hash.h"
#include "core/random.h"
#include "sieve/index.h"
#include "sieve/index_file.h"
#include "unit/io_support.h"

namespace tamis::test {
namespace {

std::vector<float> random_floats(std::int64_t count, std::uint64_t row) {
  std::vector<float> x(static_cast<std::size_t>(count));
  const Stream stream(1, Purpose::test, row);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(stream.normal(static_cast<std::uint32_t>(i)));
  return x;
}

/// Keys and values of `tokens` tokens and an index of them.
struct Indexed {
  KvStore store;
  Workspace workspace{1};
  Index index;

  explicit Indexed(const IndexShape& shape, std::int64_t tokens)
      : store(shape.dtype, shape.kv_heads, shape.head_dim, shape.value_dim), index(shape) {
    const std::int64_t rows = shape.kv_heads * tokens;
    const auto k = random_floats(rows * shape.head_dim, 1);
    const auto v = random_floats(rows * shape.value_dim, 2);
    store.append({k.data(), rows, shape.head_dim}, {v.data(), rows, shape.value_dim});
    index.extend(store.heads(), workspace);
  }

  [[nodiscard]] std::string saved() const {
    const Folder folder;
    index.save(folder / "i", store.heads());
    EXPECT_EQ(folder.entries(), 1U);
    return read_text(folder / "i");
  }
  [[nodiscard]] Index load(std::string_view file) const {
    return read_index(*source_of(file), store.dtype(), store.heads());
  }
  /// Why a file is refused, without its name.
  [[nodiscard]] std::string refusal(std::string_view file) const {
    const std::string said = sentence([&] { (void)load(file); });
    EXPECT_TRUE(said.starts_with("input: ")) << said;
    return said.substr(std::min(said.size(), std::string_view("input: ").size()));
  }
};

IndexShape small_shape() {
  IndexShape shape;
  shape.dtype = DType::f16;
  shape.kv_heads = 2;
  shape.head_dim = 5;
  shape.value_dim = 3;
  return shape;
}

Indexed small() { return Indexed(small_shape(), 300); }

/// Everything in memory that attention reads.
std::string bytes_of(const Index& index) {
  const Index::Impl& impl = index.impl();
  std::string all;
  for (const auto* records : {&impl.coarse, &impl.middle})
    for (const auto& head : *records)
      for (std::size_t b = 0; b < static_cast<std::size_t>(impl.blocks); ++b)
        all.append(reinterpret_cast<const char*>(head[b]),
                   records == &impl.coarse ? impl.layout.coarse_bytes : impl.layout.middle_bytes);
  return all;
}

RC_GTEST_PROP(IndexFile, ALoadedIndexIsTheOneThatWasSaved, ()) {
  IndexShape shape;
  shape.dtype = *rc::gen::element(DType::f32, DType::f16, DType::bf16);
  shape.kv_heads = *rc::gen::inRange(1, 4);
  shape.head_dim = *rc::gen::inRange(1, 70);
  shape.value_dim = *rc::gen::inRange(1, 70);
  shape.sinks = *rc::gen::inRange(0, 129);
  shape.values = *rc::gen::arbitrary<bool>();
  const Indexed x(shape, *rc::gen::inRange(0, 700));
  const Index loaded = x.load(x.saved());
  RC_ASSERT(loaded.shape() == shape);
  RC_ASSERT(loaded.tokens() == x.index.tokens());
  RC_ASSERT(bytes_of(loaded) == bytes_of(x.index));
  RC_ASSERT(loaded.impl().pinned == x.index.impl().pinned);
}

TEST(IndexFile, ALoadedIndexAttendsToTheSameBitsAndGrowsOn) {
  IndexShape sizes = small_shape();
  sizes.head_dim = sizes.value_dim = 32;
  Indexed x(sizes, 3000);
  const std::string file = x.saved();
  Shape shape;
  shape.query_heads = 4;
  shape.kv_heads = 2;
  shape.head_dim = shape.value_dim = 32;
  shape.dtype = DType::f16;
  const auto q = random_floats(shape.rows() * 32, 3);
  const auto attend_with = [&](const Index& index) {
    std::vector<float> out(static_cast<std::size_t>(shape.rows() * 32));
    std::vector<float> lse(static_cast<std::size_t>(shape.rows()));
    std::vector<Certificate> certificates(lse.size());
    const Budget budget = parse_budget("topk:100");
    attend(index, shape, {q.data(), shape.rows(), 32}, x.store.heads(), {}, {&budget, 1}, {}, x.workspace,
           {out.data(), shape.rows(), 32}, lse, certificates);
    out.insert(out.end(), lse.begin(), lse.end());
    for (const Certificate& c : certificates) out.push_back(static_cast<float>(c.error));
    return out;
  };
  Index loaded = x.load(file);
  EXPECT_EQ(attend_with(loaded), attend_with(x.index));

  const auto more = random_floats(2 * 200 * 32, 4);
  x.store.append({more.data(), 400, 32}, {more.data(), 400, 32});
  EXPECT_EQ(x.load(file).tokens(), loaded.tokens());  // an index may lag behind
  loaded.extend(x.store.heads(), x.workspace);
  x.index.extend(x.store.heads(), x.workspace);
  EXPECT_EQ(bytes_of(loaded), bytes_of(x.index));
}

TEST(IndexFile, EveryFlippedBitOfTheHeaderAndOneOfEveryByteIsRefused) {
  const Indexed x = small();
  std::string file = x.saved();
  std::uint64_t header = 0;
  std::memcpy(&header, file.data(), sizeof header);
  for (std::size_t at = 0; at < file.size(); ++at)
    for (unsigned bit = 0; bit < 8; ++bit) {
      if (at >= 8 + header && bit != at % 8) continue;
      const char flip = static_cast<char>(1U << bit);
      file[at] = static_cast<char>(file[at] ^ flip);
      EXPECT_NE(x.refusal(file), "") << "byte " << at << ", bit " << bit;
      file[at] = static_cast<char>(file[at] ^ flip);
    }
  EXPECT_EQ(x.load(file).tokens(), 256);
}

TEST(IndexFile, EveryTruncationAndEveryTailIsRefused) {
  const Indexed x = small();
  const std::string file = x.saved();
  for (std::size_t length = 0; length < file.size(); length += length < 1000 ? 1 : 97)
    EXPECT_NE(x.refusal(file.substr(0, length)), "") << length;
  EXPECT_NE(x.refusal(file + '\0').find("belong to no tensor"), std::string::npos);
}

TEST(IndexFile, ItBelongsToItsKeysAndValuesAlone) {
  const Indexed x = small();
  const std::string file = x.saved();
  const std::string other = "belongs to other keys and values than those given; build an index of these";
  // Any token that is indexed, keys and values; not one of the unfinished block.
  for (const std::int64_t token : {0, 3, 127, 128, 255})
    for (const bool of_key : {true, false}) {
      const KvPages& head = x.store.heads()[1];
      const std::int64_t row = token % 128;
      const void* page = of_key ? head.k[token / 128] : head.v[token / 128];
      auto* at = const_cast<std::uint16_t*>(static_cast<const std::uint16_t*>(page)) +
                 row * (of_key ? head.k_stride : head.v_stride) + 2;
      *at ^= 1;
      EXPECT_EQ(x.refusal(file), other) << token;
      *at ^= 1;
    }
  Indexed longer = small();
  const auto more = random_floats(2 * 10 * 5, 9);
  longer.store.truncate(290);
  longer.store.append({more.data(), 20, 5}, {more.data(), 20, 3});
  EXPECT_EQ(longer.load(file).tokens(), 256);
}

TEST(IndexFile, KeysAndValuesOfAnotherShapeAreToldApartUnread) {
  const Indexed x = small();
  const std::string file = x.saved();
  const auto refusal = [&](DType dtype, std::span<const KvPages> kv) {
    const std::string said = sentence([&] { (void)read_index(*source_of(file), dtype, kv); });
    const std::string_view start = "input: belongs to other keys and values: its ";
    EXPECT_TRUE(said.starts_with(start)) << said;
    return said.substr(std::min(said.size(), start.size()));
  };
  const auto heads = x.store.heads();
  EXPECT_EQ(refusal(DType::f32, heads), "dtype is f16, that of those given f32");
  EXPECT_EQ(refusal(DType::f16, heads.first(1)), "number of KV heads is 2, that of those given 1");
  EXPECT_EQ(refusal(DType::f16, {}), "number of KV heads is 2, that of those given 0");
  std::vector<KvPages> kv(heads.begin(), heads.end());
  kv[0].tokens = kv[1].tokens = 255;
  EXPECT_EQ(refusal(DType::f16, kv), "number of tokens is 256, that of those given 255");
  kv.assign(heads.begin(), heads.end());
  kv[1].k_stride = 4;
  EXPECT_EQ(refusal(DType::f16, kv), "head size is 5, that of those given 4");
  kv[1].k_stride = heads[1].k_stride;
  kv[1].v_stride = 2;
  EXPECT_EQ(refusal(DType::f16, kv), "size of values is 3, that of those given 2");
}

TEST(IndexFile, StridesDoNotMatter) {
  const IndexShape shape = small_shape();
  Indexed x = small();
  const std::string file = x.saved();
  // The same tokens, one after the other without gaps and with gaps of 4 elements.
  for (const std::int64_t gap : {0, 4}) {
    std::vector<std::vector<std::uint16_t>> pages;
    std::vector<const void*> tables;
    std::vector<KvPages> kv;
    tables.reserve(64);
    for (const KvPages& head : x.store.heads()) {
      const auto copy = [&](const void* const* from, std::int64_t stride, std::int64_t dim) {
        const void* const* table = tables.data() + tables.size();
        for (std::size_t p = 0; p < 3; ++p) {
          pages.emplace_back(static_cast<std::size_t>(128 * (dim + gap)), std::uint16_t{0x1234});
          for (std::int64_t row = 0; row < 128; ++row)
            std::memcpy(pages.back().data() + row * (dim + gap),
                        static_cast<const std::uint16_t*>(from[p]) + row * stride,
                        static_cast<std::size_t>(dim) * 2);
          tables.push_back(pages.back().data());
        }
        return table;
      };
      KvPages strided = head;
      strided.k = copy(head.k, head.k_stride, shape.head_dim);
      strided.v = copy(head.v, head.v_stride, shape.value_dim);
      strided.k_stride = shape.head_dim + gap;
      strided.v_stride = shape.value_dim + gap;
      kv.push_back(strided);
    }
    EXPECT_EQ(read_index(*source_of(file), DType::f16, kv).tokens(), 256);
  }
}

TEST(IndexFile, FilesThatAreNotThereOrCannotBeMadeAreNamed) {
  const Indexed x = small();
  const Folder folder;
  EXPECT_EQ(sentence([&] { (void)Index::load(folder / "i", DType::f16, x.store.heads()); }),
            folder / "i" + ": there is no such file");
  const std::string nowhere = folder / "none/i";
  EXPECT_TRUE(sentence([&] { x.index.save(nowhere, x.store.heads()); }, Code::io).starts_with(nowhere));
  x.index.save(folder / "i", x.store.heads());
  EXPECT_EQ(Index::load(folder / "i", DType::f16, x.store.heads()).tokens(), 256);
  EXPECT_EQ(folder.entries(), 1U);
  // Keys and values that are fewer than the index has cannot be those it was built from.
  (void)sentence([&] { x.index.save(folder / "j", x.store.heads().first(1)); }, Code::usage);
  EXPECT_EQ(folder.entries(), 1U);
}

// ---- Lies with the right checksum ----

/// A saved index, taken apart to be changed and put together again as docs/index.md says.
struct Draft {
  Metadata metadata;
  std::map<std::string, Tensor> tensors;

  explicit Draft(const std::string& file) {
    const Folder folder;
    write_text(folder / "i", file);
    const SafetensorsFile read(folder / "i");
    metadata = read.metadata();
    for (const TensorInfo& info : read.tensors()) tensors.emplace(info.name, read.read(info.name));
  }

  template <class T>
  void poke(const std::string& name, std::size_t at, T value) {
    std::memcpy(tensors.at(name).bytes().data() + at, &value, sizeof value);
  }

  [[nodiscard]] std::string sealed() {
    Hash hash;
    std::vector<TensorRef> refs;
    for (const auto& [key, value] : metadata)
      if (key != "checksum") hash.add(key + "=" + value + "\n");
    for (const auto& [name, tensor] : tensors) {
      hash.add(tensor.bytes());
      refs.push_back({tensor.info(), tensor.bytes().data()});
    }
    if (metadata.contains("checksum")) metadata["checksum"] = hash.hex();
    const Folder folder;
    write_safetensors(folder / "i", refs, metadata);
    return read_text(folder / "i");
  }
};

TEST(IndexFile, TheChecksumIsTheOneOfTheDocumentation) {
  const Indexed x = small();
  Draft draft(x.saved());
  const std::string before = draft.metadata.at("checksum");
  EXPECT_EQ(x.load(draft.sealed()).tokens(), 256);
  EXPECT_EQ(draft.metadata.at("checksum"), before);
}

TEST(IndexFile, MetadataThatLiesIsRefused) {
  const Indexed x = small();
  const std::string file = x.saved();
  const auto with = [&](const std::string& key, const std::string& value) {
    Draft draft(file);
    draft.metadata[key] = value;
    return x.refusal(draft.sealed());
  };
  const auto without = [&](const std::string& key) {
    Draft draft(file);
    draft.metadata.erase(key);
    return x.refusal(draft.sealed());
  };
  const std::string not_an_index = "is not an index; the metadata of one has 'format' = 'tamis-index'";
  EXPECT_EQ(with("format", "tamis-trace"), not_an_index);
  EXPECT_EQ(without("format"), not_an_index);
  EXPECT_EQ(with("version", "1"),
            "is an index of version '1'; this tamis reads version '2': build it again");
  EXPECT_EQ(without("version"),
            "is an index of version unknown; this tamis reads version '2': build it again");
  EXPECT_EQ(without("kv_hash"), "the metadata has no 'kv_hash'; the file is damaged");
  EXPECT_EQ(without("checksum"), "the metadata has no 'checksum'; the file is damaged");
  EXPECT_EQ(with("note", "x"), "the metadata has an entry 'note', which no index has");
  EXPECT_EQ(with("dtype", "f64"), "metadata 'dtype' is 'f64'; it must be 'f32', 'f16' or 'bf16'");
  EXPECT_EQ(with("values", "yes"), "metadata 'values' is 'yes'; it must be 'true' or 'false'");
  for (const char* bad : {"0", "-1", "1048577", "two", "", "2.0", "99999999999999999999"})
    EXPECT_EQ(with("kv_heads", bad), "metadata 'kv_heads' is '" + std::string(bad) +
                                         "'; it must be a whole number from 1 to 1048576");
  EXPECT_EQ(with("head_dim", "1025"),
            "metadata 'head_dim' is '1025'; it must be a whole number from 1 to 1024");
  EXPECT_EQ(with("value_dim", "0"),
            "metadata 'value_dim' is '0'; it must be a whole number from 1 to 1024");
  EXPECT_EQ(with("sinks", "129"), "metadata 'sinks' is '129'; it must be a whole number from 0 to 128");
  EXPECT_EQ(with("tokens", "255"), "metadata 'tokens' is '255'; it must be a multiple of 128");
  EXPECT_NE(with("tokens", "9223372036854775807").find("whole number"), std::string::npos);
  // What the metadata says and the tensors are must agree, before any memory is taken.
  for (const auto& [key, value] : {std::pair("tokens", "384"),
                                   {"tokens", "1099511627776"},
                                   {"kv_heads", "3"},
                                   {"kv_heads", "1048576"},
                                   {"values", "false"},
                                   {"head_dim", "33"}})
    EXPECT_NE(with(key, value).find("by the metadata it must be"), std::string::npos) << key;
  EXPECT_EQ(with("sinks", "5"), "is damaged: in block 0 of KV head 0, a sink is not marked as one");
}

TEST(IndexFile, NumbersThatNoIndexHoldsAreRefused) {
  const Indexed x = small();
  const std::string file = x.saved();
  const Layout& layout = x.index.impl().layout;
  const std::size_t block = 3 * layout.coarse_bytes;  // block 1 of head 1
  const std::size_t middle = 3 * layout.middle_bytes;
  const auto with = [&](const char* name, std::size_t at, auto value) {
    Draft draft(file);
    draft.poke(name, at, value);
    const std::string said = x.refusal(draft.sealed());
    const std::string_view start = "is damaged: in block 1 of KV head 1, ";
    EXPECT_TRUE(said.starts_with(start)) << said;
    return said.substr(std::min(said.size(), start.size()));
  };
  const float nan = std::nanf("");
  const float inf = HUGE_VALF;
  for (const float bad : {0.0F, -1.0F, 3.0F, nan, inf, 0x1p-101F, 0x1p101F})
    EXPECT_EQ(with("coarse", block + offsetof(BlockHead, unit), bad),
              "the unit is not a power of 2 from 2^-100 to 2^100");
  for (const std::size_t at :
       {offsetof(BlockHead, centre_norm), offsetof(BlockHead, radius), offsetof(BlockHead, value_norm),
        offsetof(BlockHead, residual_unit), offsetof(BlockHead, key_norm)})
    for (const float bad : {-1.0F, nan, inf})
      EXPECT_EQ(with("coarse", block + at, bad), "a norm is negative or not finite");
  EXPECT_EQ(with("coarse", block + offsetof(BlockHead, residual_unit), 0.0F),
            "the unit of the value residuals is zero");
  EXPECT_EQ(with("coarse", block + layout.centre + 2, std::uint16_t{0x7C00}),
            "a channel's centre is not finite");
  for (const int bad : {0x0000, 0x0001, 0x8400, 0x7C00, 0x7E00})
    EXPECT_EQ(with("coarse", block + layout.step + 2, static_cast<std::uint16_t>(bad)),
              "a channel's step is not positive and finite");
  EXPECT_EQ(with("coarse", block + layout.centroid, std::uint16_t{0x7FC0}),
            "the centroid of the values is not finite");
  for (const std::size_t at :
       {offsetof(BlockHead, pinned), offsetof(BlockHead, coarse_most), offsetof(BlockHead, middle_most)})
    EXPECT_EQ(with("coarse", block + at, std::uint8_t{7}), "the residual norms and their summary disagree");
  EXPECT_EQ(with("coarse", block + layout.norms + 9, pinned_code),
            "the residual norms and their summary disagree");
  EXPECT_EQ(with("middle", middle + layout.middle_norms + 9, std::uint8_t{255}),
            "a residual norm is out of range");
  for (const int bad : {0x7F80, 0xFF80, 0x7FC0})
    EXPECT_EQ(with("middle", middle + layout.value_low, static_cast<std::uint16_t>(bad)),
              "the range of a value is not finite");
  for (const int bad : {0x7F80, 0xBF80, 0x7FC0})
    EXPECT_EQ(with("middle", middle + layout.value_step, static_cast<std::uint16_t>(bad)),
              "the range of a value is not finite");
}

}  // namespace
}  // namespace tamis::test
