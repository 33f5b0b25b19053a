// Index files: safetensors with the records of every block as they lie in memory, and metadata that says
// of which keys and values; docs/index.md has the format. Saving reads the index twice and the keys and
// values once, loading each of the two once; neither makes a copy of the index.
#include "sieve/index_file.h"

#include <algorithm>
#include <array>

#include "attention/check.h"
#include "core/fail.h"
#include "core/hash.h"
#include "io/safetensors_header.h"
#include "io/safetensors_writer.h"
#include "io/text.h"
#include "sieve/index.h"

namespace tamis {
namespace {

constexpr std::string_view file_format = "tamis-index";
/// Of everything in the file, the records above all: changes with any of it.
constexpr std::string_view file_version = "2";

/// All that the metadata holds.
constexpr std::array<std::string_view, 11> entries{"checksum",  "dtype",   "format", "head_dim",
                                                   "kv_heads",  "kv_hash", "sinks",  "tokens",
                                                   "value_dim", "values",  "version"};

/// Of keys, then values, head by head: the bytes of tokens 0 … tokens − 1 without what strides skip.
std::string hash_of(const IndexShape& shape, std::span<const KvPages> kv, std::int64_t tokens) {
  Hash hash;
  const auto add = [&](const void* const* pages, std::int64_t stride, std::int64_t dim) {
    const std::int64_t size = size_of(shape.dtype);
    for (std::int64_t page = 0; page < tokens / page_tokens; ++page) {
      const auto* at = static_cast<const std::byte*>(pages[page]);
      const std::int64_t rows = stride == dim ? 1 : page_tokens;  // or the page in one piece
      const auto bytes = static_cast<std::size_t>(page_tokens / rows * dim * size);
      for (std::int64_t row = 0; row < rows; ++row) hash.add({at + row * stride * size, bytes});
    }
  };
  for (const KvPages& head : kv) {
    add(head.k, head.k_stride, shape.head_dim);
    add(head.v, head.v_stride, shape.value_dim);
  }
  return hash.hex();
}

/// The records in the order of the file: coarse ones, then middle ones, each by head and block.
template <class Records, class Use>
void for_each_record(Records& index, std::int64_t blocks, const Use& use) {
  for (auto* records : {&index.coarse, &index.middle}) {
    const std::size_t bytes =
        records == &index.coarse ? index.layout.coarse_bytes : index.layout.middle_bytes;
    for (const auto& head : *records)
      for (std::int64_t block = 0; block < blocks; ++block)
        use(std::span(head[static_cast<std::size_t>(block)], bytes));
  }
}

/// Of the metadata, but for the checksum itself, and all data.
std::string checksum_of(const Metadata& metadata, const Index::Impl& index) {
  Hash hash;
  for (const auto& [key, value] : metadata)
    if (key != "checksum") hash.add(fmt::format("{}={}\n", key, value));
  for_each_record(index, index.blocks, [&](std::span<const std::byte> record) { hash.add(record); });
  return hash.hex();
}

std::vector<TensorInfo> tensors_of(const Layout& layout, std::int64_t kv_heads, std::int64_t blocks) {
  return {{"coarse", DType::u8, {kv_heads, blocks, static_cast<std::int64_t>(layout.coarse_bytes)}},
          {"middle", DType::u8, {kv_heads, blocks, static_cast<std::int64_t>(layout.middle_bytes)}}};
}

/// What the header of an index file says, each claim checked.
class IndexHeader {
 public:
  explicit IndexHeader(const ByteSource& source)
      : file_(source.name()), header_(read_safetensors_header(source)) {
    check_format();
    shape.dtype = dtype();
    shape.kv_heads = number("kv_heads", 1, most_heads);
    shape.head_dim = number("head_dim", 1, largest_dim);
    shape.value_dim = number("value_dim", 1, largest_dim);
    shape.sinks = number("sinks", 0, block_keys);
    shape.values = text("values") == "true";
    if (!shape.values && text("values") != "false") fail_entry("values", "'true' or 'false'");
    tokens = number("tokens", 0, most_tokens);
    if (tokens % block_keys != 0) fail_entry("tokens", fmt::format("a multiple of {}", block_keys));
    check_tensors();
  }

  IndexShape shape;
  std::int64_t tokens = 0;

  [[nodiscard]] const Metadata& metadata() const { return header_.metadata; }
  [[nodiscard]] const std::string& text(std::string_view key) const {
    return header_.metadata.at(std::string(key));
  }
  /// Where the data begins in the file.
  [[nodiscard]] std::int64_t start() const { return header_.start.front(); }

 private:
  [[noreturn]] void fail_entry(std::string_view key, std::string_view right) const {
    fail(Code::input, "{}: metadata '{}' is {}; it must be {}", file_, key, quote(text(key)), right);
  }

  void check_format() const {
    const Metadata& metadata = header_.metadata;
    const auto format = metadata.find("format");
    if (format == metadata.end() || format->second != file_format)
      fail(Code::input, "{}: is not an index; the metadata of one has 'format' = '{}'", file_, file_format);
    const auto version = metadata.find("version");
    if (version == metadata.end() || version->second != file_version)
      fail(Code::input, "{}: is an index of version {}; this tamis reads version '{}': build it again",
           file_, version == metadata.end() ? "unknown" : quote(version->second), file_version);
    for (const std::string_view key : entries)
      if (!metadata.contains(std::string(key)))
        fail(Code::input, "{}: the metadata has no '{}'; the file is damaged", file_, key);
    for (const auto& [key, value] : metadata)
      if (std::ranges::find(entries, key) == entries.end())
        fail(Code::input, "{}: the metadata has an entry {}, which no index has", file_, quote(key));
  }

  [[nodiscard]] DType dtype() const {
    for (const DType type : {DType::f32, DType::f16, DType::bf16})
      if (text("dtype") == name_of(type)) return type;
    fail_entry("dtype", "'f32', 'f16' or 'bf16'");
  }

  [[nodiscard]] std::int64_t number(std::string_view key, std::int64_t least, std::int64_t most) const {
    const auto value = parse_int(text(key));
    if (!value || *value < least || *value > most)
      fail_entry(key, fmt::format("a whole number from {} to {}", least, most));
    return *value;
  }

  void check_tensors() const {
    const auto expected = tensors_of(Layout(shape), shape.kv_heads, tokens / block_keys);
    if (header_.tensors.size() != expected.size())
      fail(Code::input, "{}: holds {} tensors; an index has two, 'coarse' and 'middle'", file_,
           header_.tensors.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const TensorInfo& info = header_.tensors[i];
      if (info.name != expected[i].name || info.dtype != expected[i].dtype ||
          info.shape != expected[i].shape)
        fail(Code::input, "{}: tensor {} is {} {}; by the metadata it must be '{}', {} {}", file_,
             quote(info.name), name_of(info.dtype), shape_text(info.shape), expected[i].name,
             name_of(expected[i].dtype), shape_text(expected[i].shape));
    }
  }

  const std::string& file_;
  SafetensorsHeader header_;
};

/// Throws `input` where it shows without reading them that the keys and values are others.
void check_same_shape(const std::string& file, const IndexHeader& header, DType dtype,
                      std::span<const KvPages> kv) {
  const auto expect = [&file](bool same, std::string_view what, auto indexed, auto given) {
    if (!same)
      fail(Code::input, "{}: belongs to other keys and values: its {} {}, that of those given {}", file,
           what, indexed, given);
  };
  const IndexShape& shape = header.shape;
  expect(dtype == shape.dtype, "dtype is", name_of(shape.dtype), name_of(dtype));
  expect(std::ssize(kv) == shape.kv_heads, "number of KV heads is", shape.kv_heads, kv.size());
  for (const KvPages& head : kv) {
    expect(head.tokens >= header.tokens, "number of tokens is", header.tokens, head.tokens);
    if (header.tokens == 0) continue;
    expect(head.k_stride >= shape.head_dim, "head size is", shape.head_dim, head.k_stride);
    expect(head.v_stride >= shape.value_dim, "size of values is", shape.value_dim, head.v_stride);
  }
}

/// Everything but the hashes.
Index read_records(const ByteSource& source, const IndexHeader& header, DType dtype,
                   std::span<const KvPages> kv) {
  check_same_shape(source.name(), header, dtype, kv);
  check_pages(header.shape, kv, header.tokens);
  Index result(header.shape);
  Index::Impl& index = result.impl();
  const std::int64_t blocks = header.tokens / block_keys;
  index.reserve(blocks);
  std::int64_t at = header.start();
  for_each_record(index, blocks, [&](std::span<std::byte> record) {
    source.read_at(at, record);
    at += std::ssize(record);
  });
  for (std::int64_t head = 0; head < header.shape.kv_heads; ++head)
    for (std::int64_t block = 0; block < blocks; ++block) check_records(source.name(), index, head, block);
  index.set_blocks(blocks);
  index.remember(kv, 0);
  return result;
}

}  // namespace

Index read_index_unhashed(const ByteSource& source, DType dtype, std::span<const KvPages> kv) {
  return read_records(source, IndexHeader(source), dtype, kv);
}

Index read_index(const ByteSource& source, DType dtype, std::span<const KvPages> kv) {
  const std::string& file = source.name();
  const IndexHeader header(source);
  Index index = read_records(source, header, dtype, kv);
  const std::string checksum = checksum_of(header.metadata(), index.impl());
  if (checksum != header.text("checksum"))
    fail(Code::input, "{}: is damaged: its checksum is {}, and its metadata says {}", file, checksum,
         quote(header.text("checksum")));
  if (hash_of(header.shape, kv, header.tokens) != header.text("kv_hash"))
    fail(Code::input, "{}: belongs to other keys and values than those given; build an index of these",
         file);
  return index;
}

Index Index::load(const std::string& path, DType dtype, std::span<const KvPages> kv) {
  return read_index(*open_file(path), dtype, kv);
}

void Index::save(const std::string& path, std::span<const KvPages> kv) const {
  const IndexShape& s = shape();
  check_pages(s, kv, tokens());
  check_same_tokens(impl(), kv);
  Metadata metadata{{"format", std::string(file_format)},     {"version", std::string(file_version)},
                    {"dtype", std::string(name_of(s.dtype))}, {"kv_heads", std::to_string(s.kv_heads)},
                    {"head_dim", std::to_string(s.head_dim)}, {"value_dim", std::to_string(s.value_dim)},
                    {"sinks", std::to_string(s.sinks)},       {"values", s.values ? "true" : "false"},
                    {"tokens", std::to_string(tokens())},     {"kv_hash", hash_of(s, kv, tokens())}};
  metadata["checksum"] = checksum_of(metadata, impl());
  SafetensorsWriter file(path, tensors_of(impl().layout, s.kv_heads, impl().blocks), metadata);
  for_each_record(impl(), impl().blocks, [&](std::span<const std::byte> record) { file.write(record); });
  file.commit();
}

}  // namespace tamis
