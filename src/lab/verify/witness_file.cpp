// Reads and writes witness files (docs/witness.md). Reading takes memory for the tensors that the
// file really holds.
#include <tamis/lab/witness.h>

#include <array>
#include <cmath>
#include <string_view>

#include "core/fail.h"
#include "core/text.h"
#include "lab/verify/witness_checks.h"

namespace tamis::lab {
namespace {

constexpr std::array<const char*, 6> reserved{"format", "version", "eps1",
                                              "eps2",   "causal",  "weak"};
constexpr const char* eps1_range = "a number above 0 and below 1";
constexpr const char* eps2_range = "a finite number above 0";

bool eps1_fits(double eps1) { return eps1 > 0 && eps1 < 1; }
bool eps2_fits(double eps2) { return eps2 > 0 && std::isfinite(eps2); }

/// Reads the metadata that the format defines. Throws `input`, naming the entry, if one is wrong.
struct Entries {
  const SafetensorsFile& file;

  [[nodiscard]] const std::string* find(const char* key) const {
    const auto found = file.metadata().find(key);
    return found == file.metadata().end() ? nullptr : &found->second;
  }
  [[noreturn]] void refuse(const char* key, std::string_view right) const {
    core::fail(Code::input, "{}: metadata '{}' is {}; it must be {}", file.path(), key,
               core::quote(*find(key)), right);
  }
  void expect(const char* key, std::string_view value) const {
    const std::string* text = find(key);
    if (text != nullptr && *text != value) refuse(key, core::quote(value));
  }
  [[nodiscard]] bool flag(const char* key, bool otherwise) const {
    const std::string* text = find(key);
    if (text == nullptr) return otherwise;
    if (*text != "true" && *text != "false") refuse(key, "'true' or 'false'");
    return *text == "true";
  }
  [[nodiscard]] double number(const char* key, bool (*fits)(double), const char* right,
                              double otherwise) const {
    const std::string* text = find(key);
    if (text == nullptr) return otherwise;
    const auto value = core::parse_f64(*text);
    if (!value || !fits(*value)) refuse(key, right);
    return *value;
  }
};

Tensor read_if_there(const SafetensorsFile& file, const char* name) {
  return file.find(name) == nullptr ? Tensor() : file.read(name);
}

TensorRef ref_to(const char* name, const Tensor& tensor) {
  return {{name, tensor.info().dtype, tensor.info().shape}, tensor.bytes().data()};
}

}  // namespace

void check_conditions(const Conditions& conditions) {
  if (conditions.weak) return;
  if (!eps1_fits(conditions.eps1))
    core::fail(Code::usage, "eps1 is {}; it must be {}", conditions.eps1, eps1_range);
  if (!eps2_fits(conditions.eps2))
    core::fail(Code::usage, "eps2 is {}; it must be {}", conditions.eps2, eps2_range);
}

Witness verification::witness_in(const SafetensorsFile& file) {
  const Entries entries{file};
  entries.expect("format", "tamis-witness");
  entries.expect("version", "1");
  Witness witness;
  const Conditions otherwise;
  witness.made_for.causal = entries.flag("causal", otherwise.causal);
  witness.made_for.weak = entries.flag("weak", otherwise.weak);
  if (!witness.made_for.weak) {
    witness.made_for.eps1 = entries.number("eps1", eps1_fits, eps1_range, otherwise.eps1);
    witness.made_for.eps2 = entries.number("eps2", eps2_fits, eps2_range, otherwise.eps2);
  }
  witness.made_by = file.metadata();
  for (const char* key : reserved) witness.made_by.erase(key);
  witness.q = read_if_there(file, "q");
  witness.k = read_if_there(file, "k");
  witness.x = read_if_there(file, "x");
  witness.w_q = read_if_there(file, "w_q");
  witness.w_k = read_if_there(file, "w_k");
  check_witness(file.path(), witness);
  return witness;
}

Witness read_witness(const std::string& path) {
  return verification::witness_in(SafetensorsFile(path));
}

void write_witness(const std::string& path, const Witness& witness) {
  check_conditions(witness.made_for);
  verification::check_witness(path, witness);
  Metadata metadata = witness.made_by;
  for (const char* key : reserved)
    if (metadata.contains(key))
      core::fail(Code::usage,
                 "{}: the metadata '{}' is said by the format itself; give it another name", path,
                 key);
  metadata.emplace("format", "tamis-witness");
  metadata.emplace("version", "1");
  metadata["causal"] = witness.made_for.causal ? "true" : "false";
  metadata["weak"] = witness.made_for.weak ? "true" : "false";
  if (!witness.made_for.weak) {  // {} is the shortest text that reads back as the same double
    metadata["eps1"] = fmt::format("{}", witness.made_for.eps1);
    metadata["eps2"] = fmt::format("{}", witness.made_for.eps2);
  }
  std::vector<TensorRef> tensors;
  if (witness.has_queries()) tensors = {ref_to("q", witness.q), ref_to("k", witness.k)};
  if (witness.has_inputs())
    for (const TensorRef& ref :
         {ref_to("x", witness.x), ref_to("w_q", witness.w_q), ref_to("w_k", witness.w_k)})
      tensors.push_back(ref);
  write_safetensors(path, tensors, metadata);
}

}  // namespace tamis::lab
