// Traces: the fields of docs/trace.md, and an error message for each kind of mistake in them.
#include <algorithm>
#include <cmath>
#include <map>

#include <tamis/lab/trace.h>
#include "support/io_files.h"

namespace tamis::test {
namespace {

/// A trace for tests to damage: 2 layers, 5 tokens, 3 queries, 4 query heads on 2 KV heads, d = 4,
/// d_v = 2.
class Draft {
 public:
  struct Array {
    DType dtype;
    std::vector<std::int64_t> shape;
    std::string bytes;
  };

  Draft() {
    metadata = {{"format", "tamis-trace"},
                {"version", "1"},
                {"scale", "0.5"},
                {"causal", "true"},
                {"tokens", "5"}};
    set("positions", DType::i64, {3}, std::vector<std::int64_t>{0, 2, 4});
    for (const char* layer : {"layers.3.", "layers.12."}) {
      set_zero(std::string(layer) + "q", DType::f32, {4, 3, 4});
      set_zero(std::string(layer) + "k", DType::f16, {2, 5, 4});
      set_zero(std::string(layer) + "v", DType::f16, {2, 5, 2});
    }
  }

  void set_zero(const std::string& name, DType dtype, std::vector<std::int64_t> shape) {
    const lab::TensorInfo info{name, dtype, shape};
    tensors[name] = {dtype, std::move(shape),
                     std::string(static_cast<std::size_t>(info.bytes()), '\0')};
  }
  template <class T>
  void set(const std::string& name, DType dtype, std::vector<std::int64_t> shape,
           const std::vector<T>& values) {
    tensors[name] = {
        dtype, std::move(shape),
        std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T))};
  }
  template <class T>
  void poke(const std::string& name, std::size_t at, T value) {
    tensors.at(name).bytes.replace(at * sizeof(T), sizeof(T), reinterpret_cast<const char*>(&value),
                                   sizeof(T));
  }

  [[nodiscard]] std::string path() const { return folder_ / "t"; }
  [[nodiscard]] lab::Trace open() const {
    std::vector<lab::TensorRef> refs;
    for (const auto& [name, array] : tensors)
      refs.push_back({{name, array.dtype, array.shape}, array.bytes.data()});
    lab::write_safetensors(path(), refs, metadata);
    return lab::Trace(path());
  }
  /// The error with which opening the trace fails, without the path.
  [[nodiscard]] std::string refusal() const {
    const std::string said = sentence([this] { (void)open(); });
    EXPECT_TRUE(said.starts_with(path() + ": ")) << said;
    return said.substr(std::min(said.size(), path().size() + 2));
  }

  lab::Metadata metadata;
  std::map<std::string, Array> tensors;

 private:
  Folder folder_;
};

TEST(Trace, EveryFieldIsRead) {
  Draft draft;
  draft.metadata.insert(
      {{"rope_theta", "1e5"}, {"rope_dims", "4"}, {"rope_style", "half"}, {"model", "a model"}});
  draft.set_zero("layers.3.w_q", DType::bf16, {4, 6, 4});
  draft.set_zero("layers.3.w_k", DType::f64, {2, 6, 4});
  draft.set("layers.3.w_norm", DType::f32, {4}, std::vector<float>{1, 2, 3, 0});
  draft.set("layers.12.input_bound", DType::f64, {1}, std::vector<double>{7.5});
  draft.poke<float>("layers.3.q", 1, 2.5F);
  draft.poke<std::uint16_t>("layers.3.v", 19, 0x3C00);
  const lab::Trace trace = draft.open();

  EXPECT_EQ(trace.tokens(), 5);
  EXPECT_TRUE(trace.causal());
  EXPECT_EQ(trace.metadata().at("model"), "a model");
  EXPECT_TRUE(std::ranges::equal(trace.positions(), std::vector<std::int64_t>{0, 2, 4}));
  EXPECT_TRUE(std::ranges::equal(trace.seen(), std::vector<std::int64_t>{1, 3, 5}));
  ASSERT_TRUE(trace.rotary());
  EXPECT_EQ(trace.rotary()->theta, 1e5);
  EXPECT_EQ(trace.rotary()->dims, 4);
  EXPECT_FALSE(trace.rotary()->interleaved);

  ASSERT_EQ(trace.layers().size(), 2U);
  const lab::TraceLayer& third =
      trace.layers()[0];  // 3 before 12, though the text "12" sorts before "3"
  const lab::TraceLayer& twelfth = trace.layers()[1];
  EXPECT_EQ(third.layer, 3);
  EXPECT_EQ(twelfth.layer, 12);
  EXPECT_EQ(third.shape.query_heads, 4);
  EXPECT_EQ(third.shape.kv_heads, 2);
  EXPECT_EQ(third.shape.queries, 3);
  EXPECT_EQ(third.shape.head_dim, 4);
  EXPECT_EQ(third.shape.value_dim, 2);
  EXPECT_EQ(third.shape.dtype, DType::f16);
  EXPECT_EQ(third.shape.scale, 0.5F);
  EXPECT_EQ(third.query_dtype, DType::f32);
  EXPECT_TRUE(third.has_weights);
  EXPECT_TRUE(third.has_weight_norms);
  EXPECT_FALSE(third.input_bound);
  EXPECT_FALSE(twelfth.has_weights);
  EXPECT_FALSE(twelfth.has_weight_norms);
  EXPECT_EQ(twelfth.input_bound, 7.5);

  const lab::LayerData data = trace.read(third);
  EXPECT_EQ(data.q.size(), 48U);
  EXPECT_EQ(data.q[1], 2.5F);
  EXPECT_EQ(data.k.info().shape, (std::vector<std::int64_t>{2, 5, 4}));
  EXPECT_EQ(data.v.to_f32().back(), 1.0F);
  const PageTables pages = data.pages();
  ASSERT_EQ(pages.heads().size(), 2U);
  const KvPages& second = pages.heads()[1];
  EXPECT_EQ(second.tokens, 5);
  EXPECT_EQ(second.k[0], data.k.bytes().data() + std::ptrdiff_t{5 * 4} * size_of(DType::f16));
  EXPECT_EQ(second.v[0], data.v.bytes().data() + std::ptrdiff_t{5 * 2} * size_of(DType::f16));
  EXPECT_EQ(second.dtype, DType::f16);
  EXPECT_EQ(sentence([] { (void)lab::LayerData{}.pages(); }, Code::usage),
            "the layer has no keys and values; take them from Trace::read");
  EXPECT_EQ(trace.read_weights(third).w_q.info().shape, (std::vector<std::int64_t>{4, 6, 4}));
  EXPECT_EQ(trace.read_weight_norms(third), (std::vector<double>{1, 2, 3, 0}));
  EXPECT_EQ(sentence([&] { (void)trace.read_weights(twelfth); }),
            draft.path() + ": layer 12 has no w_q and w_k");
  EXPECT_EQ(sentence([&] { (void)trace.read_weight_norms(twelfth); }),
            draft.path() + ": layer 12 has no w_norm");
  lab::TraceLayer stranger;
  stranger.layer = 4;
  EXPECT_EQ(sentence([&] { (void)trace.read(stranger); }, Code::usage),
            draft.path() + ": there is no layer 4; it has 3, 12");
}

TEST(Trace, WhatIsOptionalMayBeAbsentAndWhatIsUnknownIsIgnored) {
  Draft draft;
  draft.metadata = {{"scale", "-1e-3"}, {"causal", "false"}, {"whatever", "else"}};
  draft.set_zero("extra.numbers", DType::u8, {0});
  draft.set("positions", DType::u8, {3},
            std::vector<std::uint8_t>{4, 4, 0});  // any integer type, any order
  const lab::Trace trace = draft.open();
  EXPECT_FALSE(trace.causal());
  EXPECT_FALSE(trace.rotary());
  EXPECT_TRUE(std::ranges::equal(trace.positions(), std::vector<std::int64_t>{4, 4, 0}));
  EXPECT_TRUE(std::ranges::equal(trace.seen(), std::vector<std::int64_t>{5, 5, 5}));
  EXPECT_EQ(trace.layers()[0].shape.scale, -1e-3F);
}

TEST(Trace, LayersMayDifferInHeadsAndTypes) {
  Draft draft;
  draft.set_zero("layers.3.q", DType::bf16, {3, 3, 8});
  draft.set_zero("layers.3.k", DType::f32, {1, 5, 8});
  draft.set_zero("layers.3.v", DType::f32, {1, 5, 8});
  const lab::Trace trace = draft.open();
  EXPECT_EQ(trace.layers()[0].shape.group(), 3);
  EXPECT_EQ(trace.layers()[1].shape.group(), 2);
}

struct BadMetadata {
  const char* key;
  const char* value;  ///< null if absent
  const char* sentence;
};

TEST(Trace, WrongMetadataIsRefused) {
  const BadMetadata cases[] = {
      {"format", "gguf", "metadata 'format' is 'gguf'; it must be 'tamis-trace'"},
      {"version", "2",
       "metadata 'version' is '2'; it must be '1', the only version this tamis reads"},
      {"causal", "True", "metadata 'causal' is 'True'; it must be 'true' or 'false'"},
      {"causal", nullptr, "the metadata has no 'causal'; it must be 'true' or 'false'"},
      {"scale", nullptr,
       "the metadata has no 'scale'; it must be a number such as '0.125', finite and not zero in "
       "f32"},
      {"scale", "0",
       "metadata 'scale' is '0'; it must be a number such as '0.125', finite and not zero in f32"},
      {"scale", "nan",
       "metadata 'scale' is 'nan'; it must be a number such as '0.125', finite and not zero in "
       "f32"},
      {"scale", "1/8",
       "metadata 'scale' is '1/8'; it must be a number such as '0.125', finite and not zero in "
       "f32"},
      {"tokens", "6", "metadata 'tokens' is '6'; it must be 5, the number of tokens of k"},
      {"rope_dims", "4",
       "the metadata must have all of rope_theta, rope_dims and rope_style, or none of them"},
  };
  for (const BadMetadata& bad : cases) {
    Draft draft;
    draft.metadata.erase(bad.key);
    if (bad.value != nullptr) draft.metadata[bad.key] = bad.value;
    EXPECT_EQ(draft.refusal(), bad.sentence);
  }
  const BadMetadata rope_cases[] = {
      {"rope_theta", "-1", "metadata 'rope_theta' is '-1'; it must be a finite number above 0"},
      {"rope_dims", "3",
       "metadata 'rope_dims' is '3'; it must be an even number from 2 to head_dim = 4"},
      {"rope_dims", "6",
       "metadata 'rope_dims' is '6'; it must be an even number from 2 to head_dim = 4"},
      {"rope_style", "neox", "metadata 'rope_style' is 'neox'; it must be 'half' or 'interleaved'"},
  };
  for (const BadMetadata& bad : rope_cases) {
    Draft draft;
    draft.metadata.insert({{"rope_theta", "1e5"}, {"rope_dims", "4"}, {"rope_style", "half"}});
    draft.metadata[bad.key] = bad.value;
    EXPECT_EQ(draft.refusal(), bad.sentence);
  }
}

struct BadTensor {
  const char* name;
  DType dtype;
  std::vector<std::int64_t> shape;
  const char* sentence;
};

TEST(Trace, TensorsOfTheWrongTypeOrShapeAreRefused) {
  const BadTensor cases[] = {
      {"layers.3.q",
       DType::f64,
       {4, 3, 4},
       "tensor 'layers.3.q' has dtype f64; it must be f16, bf16 or f32"},
      {"layers.3.k",
       DType::i8,
       {2, 5, 4},
       "tensor 'layers.3.k' has dtype i8; it must be f16, bf16 or f32"},
      {"layers.3.v",
       DType::bf16,
       {2, 5, 2},
       "tensor 'layers.3.k' has dtype f16 and 'layers.3.v' has bf16; k and v of a layer must have "
       "the same"},
      {"layers.3.q",
       DType::f32,
       {12, 4},
       "tensor 'layers.3.q' has shape [12, 4]; it must be [query_heads, queries, head_dim], none "
       "of them zero"},
      {"layers.3.q",
       DType::f32,
       {4, 0, 4},
       "tensor 'layers.3.q' has shape [4, 0, 4]; it must be [query_heads, queries, head_dim], none "
       "of them zero"},
      {"layers.3.k",
       DType::f16,
       {2, 0, 4},
       "tensor 'layers.3.k' has shape [2, 0, 4]; it must be [kv_heads, tokens, head_dim], none of "
       "them zero"},
      {"layers.3.q",
       DType::f32,
       {5, 3, 4},
       "tensor 'layers.3.q' has 5 heads and 'layers.3.k' has 2; query heads must be a multiple of "
       "KV heads"},
      {"layers.3.k",
       DType::f16,
       {2, 5, 3},
       "tensor 'layers.3.k' has shape [2, 5, 3]; it must be [kv_heads, tokens, head_dim of q] = "
       "[2, 5, 4]"},
      {"layers.3.v",
       DType::f16,
       {2, 6, 2},
       "tensor 'layers.3.v' has shape [2, 6, 2]; it must be [kv_heads of k, tokens of k, "
       "value_dim] = [2, 5, 2]"},
      {"layers.3.v",
       DType::f16,
       {2, 5, 1025},
       "tensor 'layers.3.v' has heads of 1025 dimensions; at most 1024 are allowed"},
      {"layers.12.q",
       DType::f32,
       {4, 2, 4},
       "tensor 'layers.12.q' has 2 queries, but 'positions' has 3; they must be as many"},
      {"layers.3.w_q",
       DType::f32,
       {4, 6, 4},
       "there is no tensor 'layers.3.w_k'; a trace needs one of shape [kv_heads, hidden, "
       "head_dim]"},
      {"layers.3.w_norm",
       DType::f32,
       {2},
       "tensor 'layers.3.w_norm' has shape [2]; it must be [query_heads] = [4]"},
      {"layers.3.w_norm",
       DType::i32,
       {4},
       "tensor 'layers.3.w_norm' has dtype i32; it must be f16, bf16, f32 or f64"},
      {"layers.3.input_bound",
       DType::f32,
       {2},
       "tensor 'layers.3.input_bound' has shape [2]; it must be [1]"},
      {"layers.3.input_bound",
       DType::f32,
       {1},
       "tensor 'layers.3.input_bound' holds 0 at [0]; it must be above 0"},
      {"positions",
       DType::f32,
       {3},
       "tensor 'positions' has dtype f32; it must be an integer type, best i64"},
      {"positions",
       DType::i64,
       {0},
       "tensor 'positions' has shape [0]; it must be [queries], none of them zero"},
      {"layers.3.keys",
       DType::f32,
       {1},
       "tensor 'layers.3.keys' is no part of a trace; names that begin with 'layers.' must be "
       "layers.L.F with L a layer's number and F one of q, k, v, w_q, w_k, w_norm, input_bound"},
      {"layers.03.q",
       DType::f32,
       {1},
       "tensor 'layers.03.q' is no part of a trace; names that begin with 'layers.' must be "
       "layers.L.F with L a layer's number and F one of q, k, v, w_q, w_k, w_norm, input_bound"},
  };
  for (const BadTensor& bad : cases) {
    Draft draft;
    draft.set_zero(bad.name, bad.dtype, bad.shape);
    EXPECT_EQ(draft.refusal(), bad.sentence);
  }
}

TEST(Trace, MissingTensorsAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"positions", "there is no tensor 'positions'; a trace needs one of shape [queries]"},
      {"layers.3.q",
       "there is no tensor 'layers.3.q'; a trace needs one of shape [query_heads, queries, "
       "head_dim]"},
      {"layers.12.k",
       "there is no tensor 'layers.12.k'; a trace needs one of shape [kv_heads, tokens, head_dim]"},
      {"layers.12.v",
       "there is no tensor 'layers.12.v'; a trace needs one of shape [kv_heads, tokens, "
       "value_dim]"},
  };
  for (const auto& [name, said] : cases) {
    Draft draft;
    draft.tensors.erase(name);
    EXPECT_EQ(draft.refusal(), said);
  }
  Draft draft;
  std::erase_if(draft.tensors,
                [](const auto& entry) { return entry.first.starts_with("layers."); });
  EXPECT_EQ(draft.refusal(), "the trace has no layers; it needs tensors layers.L.q, .k and .v");
}

TEST(Trace, LayersMustHaveTheSameTokens) {
  Draft draft;
  draft.set_zero("layers.12.k", DType::f16, {2, 6, 4});
  draft.set_zero("layers.12.v", DType::f16, {2, 6, 2});
  EXPECT_EQ(draft.refusal(),
            "layer 3 has 5 tokens and layer 12 has 6; all layers must have the same");
}

TEST(Trace, PositionsMustBeTokens) {
  Draft draft;
  draft.poke<std::int64_t>("positions", 1, 5);
  EXPECT_EQ(draft.refusal(),
            "tensor 'positions' holds 5 at [1]; it must be from 0 to 4, the last of 5 tokens");
  draft.poke<std::int64_t>("positions", 1, -1);
  EXPECT_EQ(draft.refusal(),
            "tensor 'positions' holds -1 at [1]; it must be from 0 to 4, the last of 5 tokens");
  draft.set("positions", DType::u64, {3}, std::vector<std::uint64_t>{0, 1, std::uint64_t{1} << 63});
  EXPECT_EQ(draft.refusal(),
            "tensor 'positions' holds 9223372036854775808 at [2]; it must be from 0 to 4, the last "
            "of 5 tokens");
  draft.set("positions", DType::u64, {3}, std::vector<std::uint64_t>{0, ~std::uint64_t{0}, 1});
  EXPECT_EQ(draft.refusal(),
            "tensor 'positions' holds 18446744073709551615 at [1]; it must be from 0 to 4, the "
            "last of 5 tokens");
  draft.set("positions", DType::i64, {3},
            std::vector<std::int64_t>{0, 1, -(std::int64_t{1} << 53) - 1});
  EXPECT_EQ(draft.refusal(),
            "tensor 'positions' holds -9007199254740993 at [2]; it must be from 0 to 4, the last "
            "of 5 tokens");
}

TEST(Trace, NanAndInfinityAreNamedWithTheirPlace) {
  Draft draft;
  draft.poke<float>("layers.3.q", 4 * (3 * 2 + 1) + 3, NAN);          // [2, 1, 3]
  draft.poke<std::uint16_t>("layers.12.v", 2 * (5 * 1 + 4), 0xFC00);  // [1, 4, 0] = −inf
  const lab::Trace trace = draft.open();
  EXPECT_EQ(
      sentence([&] { (void)trace.read(trace.layers()[0]); }),
      draft.path() + ": tensor 'layers.3.q' holds nan at [2, 1, 3]; every element must be finite");
  EXPECT_EQ(sentence([&] { (void)trace.read(trace.layers()[1]); }),
            draft.path() +
                ": tensor 'layers.12.v' holds -inf at [1, 4, 0]; every element must be finite");
}

TEST(Trace, WeightNormsMustBeFiniteAndNotNegative) {
  Draft draft;
  draft.set("layers.3.w_norm", DType::f32, {4}, std::vector<float>{1, 2, -3, 4});
  const lab::Trace trace = draft.open();
  EXPECT_EQ(sentence([&] { (void)trace.read_weight_norms(trace.layers()[0]); }),
            draft.path() + ": tensor 'layers.3.w_norm' holds -3 at [2]; it must be 0 or more");
  draft.set("layers.3.input_bound", DType::f32, {1}, std::vector<float>{INFINITY});
  EXPECT_EQ(draft.refusal(),
            "tensor 'layers.3.input_bound' holds inf at [0]; every element must be finite");
}

TEST(Trace, AFileThatShrinksAfterOpeningIsAnError) {
  const Draft draft;
  const lab::Trace trace = draft.open();
  std::filesystem::resize_file(draft.path(), std::filesystem::file_size(draft.path()) - 300);
  EXPECT_NE(sentence([&] {
              (void)trace.read(trace.layers()[0]);
            }).find("the file shrank while it was being read"),
            std::string::npos);
}

TEST(Trace, TheShippedTraceIsOne) {
  const lab::Trace trace(TAMIS_DATA_DIR "/smollm2-kjv-8k-small.safetensors");
  EXPECT_EQ(trace.tokens(), 8192);
  EXPECT_EQ(trace.positions().size(), 256U);
  EXPECT_TRUE(trace.causal());
  EXPECT_EQ(trace.metadata().at("format"), "tamis-trace");
  ASSERT_EQ(trace.layers().size(), 3U);
  for (const lab::TraceLayer& layer : trace.layers()) {
    EXPECT_EQ(layer.shape.query_heads, 3);
    EXPECT_EQ(layer.shape.kv_heads, 1);
    const lab::LayerData data = trace.read(layer);
    EXPECT_EQ(data.k.info().elements(), 8192 * 64);
  }
}

}  // namespace
}  // namespace tamis::test
