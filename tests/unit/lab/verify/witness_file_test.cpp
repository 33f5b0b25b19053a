// Witness files: they are read back bit for bit, and files that are not witnesses are refused.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>

#include <tamis/lab/witness.h>
#include "support/io_files.h"
#include "support/lab/witnesses.h"

namespace tamis::test {
namespace {

bool same(const lab::Tensor& a, const lab::Tensor& b) {
  return a.info().dtype == b.info().dtype && a.info().shape == b.info().shape &&
         std::ranges::equal(a.bytes(), b.bytes());
}

RC_GTEST_PROP(WitnessFile, IsReadBackToTheBit, ()) {
  const Folder folder;
  VerifyCase given =
      random_case(*rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
  const auto word = *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>());
  given.witness.made_for = given.conditions;
  if (!given.conditions.weak) {  // any double in its range
    given.witness.made_for.eps1 = std::bit_cast<double>(word % std::bit_cast<std::uint64_t>(1.0));
    given.witness.made_for.eps2 =
        std::bit_cast<double>(word % 0x7FF0000000000000U + (word % 0x7FF0000000000000U == 0));
    if (given.witness.made_for.eps1 == 0) given.witness.made_for.eps1 = 0.5;
  } else {
    given.witness.made_for.eps1 = lab::Conditions{}.eps1;
    given.witness.made_for.eps2 = lab::Conditions{}.eps2;
  }
  given.witness.made_by = {{"method", "moment"}, {"note", "kept as it is"}};
  lab::write_witness(folder / "w", given.witness);
  const lab::Witness read = lab::read_witness(folder / "w");
  RC_ASSERT(same(read.q, given.witness.q) && same(read.k, given.witness.k) &&
            same(read.x, given.witness.x));
  RC_ASSERT(same(read.w_q, given.witness.w_q) && same(read.w_k, given.witness.w_k));
  RC_ASSERT(read.made_for.eps1 == given.witness.made_for.eps1);
  RC_ASSERT(read.made_for.eps2 == given.witness.made_for.eps2);
  RC_ASSERT(read.made_for.causal == given.witness.made_for.causal);
  RC_ASSERT(read.made_for.weak == given.witness.made_for.weak);
  RC_ASSERT(read.made_by == given.witness.made_by);
}

TEST(WitnessFile, WithoutMetadataHasTheDefaultConditions) {
  const Folder folder;
  const std::vector<float> values{1, 2};
  const lab::TensorRef q{{"q", DType::f32, {2, 1}}, values.data()};
  const lab::TensorRef k{{"k", DType::f32, {2, 1}}, values.data()};
  const lab::TensorRef other{{"notes", DType::f32, {2}}, values.data()};
  lab::write_safetensors(folder / "w", std::vector{q, k, other});
  const lab::Witness witness = lab::read_witness(folder / "w");
  EXPECT_EQ(witness.made_for.eps1, 0.1);
  EXPECT_EQ(witness.made_for.eps2, 1);
  EXPECT_FALSE(witness.made_for.causal);
  EXPECT_FALSE(witness.made_for.weak);
  EXPECT_TRUE(witness.made_by.empty());
}

/// The error for a file with these tensors and metadata, without its path.
std::string refusal(const std::vector<lab::TensorInfo>& tensors,
                    const lab::Metadata& metadata = {}) {
  const Folder folder;
  const std::vector<double> ones(64, 1);
  std::vector<lab::TensorRef> refs;
  for (const lab::TensorInfo& info : tensors) refs.push_back({info, ones.data()});
  lab::write_safetensors(folder / "w", refs, metadata);
  const std::string said = sentence([&] { (void)lab::read_witness(folder / "w"); });
  EXPECT_TRUE(said.starts_with((folder / "w") + ": ")) << said;
  return said.substr(std::min(said.size(), (folder / "w").size() + 2));
}

TEST(WitnessFile, EveryFaultIsNamed) {
  const lab::TensorInfo q{"q", DType::f64, {2, 3}};
  const lab::TensorInfo k{"k", DType::f64, {4, 3}};
  const auto with = [&](const char* key, const char* value) {
    return refusal({q, k}, {{key, value}});
  };
  EXPECT_EQ(with("eps1", "1"), "metadata 'eps1' is '1'; it must be a number above 0 and below 1");
  EXPECT_EQ(with("eps1", "tenth"),
            "metadata 'eps1' is 'tenth'; it must be a number above 0 and below 1");
  EXPECT_EQ(with("eps2", "-1"), "metadata 'eps2' is '-1'; it must be a finite number above 0");
  EXPECT_EQ(with("causal", "yes"), "metadata 'causal' is 'yes'; it must be 'true' or 'false'");
  EXPECT_EQ(with("weak", ""), "metadata 'weak' is ''; it must be 'true' or 'false'");
  EXPECT_EQ(with("format", "tamis-trace"),
            "metadata 'format' is 'tamis-trace'; it must be 'tamis-witness'");
  EXPECT_EQ(with("version", "2"), "metadata 'version' is '2'; it must be '1'");
  EXPECT_EQ(refusal({}), "holds no witness; it needs tensors q and k, or x, w_q and w_k");
  EXPECT_EQ(
      refusal({q}),
      "tensor 'k' is missing or empty; it must be [columns of the pattern, m], f32 or f64, none of "
      "them zero");
  EXPECT_EQ(
      refusal({q, {"k", DType::f64, {0, 3}}}),
      "tensor 'k' is missing or empty; it must be [columns of the pattern, m], f32 or f64, none of "
      "them zero");
  EXPECT_EQ(
      refusal({{"x", DType::f64, {2, 3}}}),
      "tensor 'w_q' is missing or empty; it must be [d_hid, d], f32 or f64, none of them zero");
  EXPECT_EQ(refusal({q, {"k", DType::f16, {4, 3}}}),
            "tensor 'k' has dtype f16; it must be f32 or f64");
  EXPECT_EQ(refusal({q, {"k", DType::f64, {12}}}),
            "tensor 'k' has shape [12]; it must be [columns of the pattern, m]");
  EXPECT_EQ(refusal({q, {"k", DType::f64, {3, 4}}}),
            "tensor 'q' has 3 columns and 'k' has 4 columns; they must be as many");
  EXPECT_EQ(
      refusal(
          {{"x", DType::f64, {2, 3}}, {"w_q", DType::f64, {3, 2}}, {"w_k", DType::f64, {2, 2}}}),
      "tensor 'x' has 3 columns and 'w_k' has 2 rows; they must be as many");
  EXPECT_EQ(
      refusal(
          {{"x", DType::f64, {2, 3}}, {"w_q", DType::f64, {3, 2}}, {"w_k", DType::f64, {3, 1}}}),
      "tensor 'w_q' has 2 columns and 'w_k' has 1 columns; they must be as many");
  EXPECT_EQ(refusal({q,
                     k,
                     {"x", DType::f32, {2, 1}},
                     {"w_q", DType::f32, {1, 1}},
                     {"w_k", DType::f32, {1, 1}}}),
            "tensor 'k' has 4 rows and 'x' has 2 rows; they must be as many");
}

TEST(WitnessFile, WritingRefusesWhatCouldNotBeRead) {
  const Folder folder;
  lab::Witness witness = witness_of({1, 1, {1}}, {1, 1, {std::nan("")}});
  EXPECT_EQ(sentence([&] { lab::write_witness(folder / "w", witness); }),
            (folder / "w") + ": tensor 'k' holds nan at [0, 0]; every element must be finite");
  witness = witness_of({1, 1, {1}}, {1, 1, {1}});
  witness.made_by["eps1"] = "0.5";
  EXPECT_EQ(
      sentence([&] { lab::write_witness(folder / "w", witness); }, Code::usage),
      (folder / "w") + ": the metadata 'eps1' is said by the format itself; give it another name");
  witness.made_by.clear();
  witness.made_for.eps2 = 0;
  EXPECT_EQ(sentence([&] { lab::write_witness(folder / "w", witness); }, Code::usage),
            "eps2 is 0; it must be a finite number above 0");
  EXPECT_EQ(folder.entries(), 0U);
}

}  // namespace
}  // namespace tamis::test
