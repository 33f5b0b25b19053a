// The header is read as a stream of JSON events straight into the table: no document is built, and
// anything nested deeper than the format allows is refused where it begins.
#include "io/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <unordered_set>

#include "core/fail.h"
#include "io/tensor_values.h"
#include "io/text.h"

namespace tamis {
namespace {

using Json = nlohmann::json;

/// One entry of the table as it stands in the JSON; a missing field is empty.
struct Entry {
  std::string name;
  std::optional<DType> dtype;
  std::optional<std::vector<std::int64_t>> shape;
  std::optional<std::vector<std::int64_t>> offsets;
};

/// Receives the JSON events. `place_` is where in the header we are; every event is either what the
/// format has at that place or an error.
class TableReader final : public nlohmann::json_sax<Json> {
 public:
  explicit TableReader(const std::string& file) : file_(file) {}

  Metadata metadata;
  std::vector<Entry> entries;

  bool start_object(std::size_t) override {
    if (place_ == Place::start) {
      place_ = Place::table;
    } else if (place_ == Place::table && key_ == "__metadata__") {
      if (seen_metadata_) fail(Code::input, "{}: the header has two entries '__metadata__'", file_);
      seen_metadata_ = true;
      place_ = Place::metadata;
    } else if (place_ == Place::table) {
      entries.push_back({.name = key_, .dtype = {}, .shape = {}, .offsets = {}});
      place_ = Place::tensor;
    } else {
      fail_type();
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor) check_complete(entries.back());
    place_ = Place::table;
    return true;
  }

  bool key(std::string& key) override {
    if (place_ == Place::table) {
      key_ = key;
      return true;
    }
    field_ = key;
    if (place_ == Place::metadata) {
      if (metadata.contains(field_))
        fail(Code::input, "{}: the metadata has two entries {}", file_, quote(field_));
      return true;
    }
    const Entry& entry = entries.back();
    const bool repeated = (field_ == "dtype" && entry.dtype) || (field_ == "shape" && entry.shape) ||
                          (field_ == "data_offsets" && entry.offsets);
    if (repeated) fail(Code::input, "{}: tensor {} has two fields {}", file_, quote(key_), quote(field_));
    if (field_ != "dtype" && field_ != "shape" && field_ != "data_offsets")
      fail(Code::input, "{}: tensor {} has a field {}; only dtype, shape and data_offsets are allowed",
           file_, quote(key_), quote(field_));
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::metadata) {
      metadata.emplace(field_, value);
    } else if (place_ == Place::tensor && field_ == "dtype") {
      const auto found = std::ranges::find(safetensors_dtypes, value);
      if (found == safetensors_dtypes.end())
        fail(Code::input, "{}: tensor {} has dtype {}; tamis reads {}", file_, quote(key_), quote(value),
             fmt::join(safetensors_dtypes, ", "));
      entries.back().dtype = static_cast<DType>(found - safetensors_dtypes.begin());
    } else {
      fail_type();
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::tensor || field_ == "dtype") fail_type();
    numbers().emplace();
    place_ = Place::numbers;
    return true;
  }

  bool end_array() override {
    place_ = Place::tensor;
    return true;
  }

  bool number_unsigned(std::uint64_t value) override {
    constexpr std::size_t most_dimensions = 64;  // as many as NumPy has
    if (place_ != Place::numbers) fail_type();
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      fail_number(std::to_string(value));
    if (numbers()->size() == most_dimensions)
      fail(Code::input, "{}: {} of tensor {} has more than {} numbers", file_, field_, quote(key_),
           most_dimensions);
    numbers()->push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool number_integer(std::int64_t value) override {
    if (place_ != Place::numbers) fail_type();
    fail_number(std::to_string(value));
  }
  bool number_float(double, const std::string& text) override {
    if (place_ != Place::numbers) fail_type();
    fail_number(text);
  }
  bool null() override { fail_type(); }
  bool boolean(bool) override { fail_type(); }
  bool binary(Json::binary_t&) override { fail_type(); }

  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    fail(Code::input,
         "{}: the header is not JSON from its byte {} on; the file is damaged or not safetensors", file_,
         position);
  }

 private:
  enum class Place { start, table, metadata, tensor, numbers };

  std::optional<std::vector<std::int64_t>>& numbers() {
    return field_ == "shape" ? entries.back().shape : entries.back().offsets;
  }

  void check_complete(const Entry& entry) const {
    const auto require = [&](bool present, std::string_view field) {
      if (!present) fail(Code::input, "{}: tensor {} has no {}", file_, quote(entry.name), field);
    };
    require(entry.dtype.has_value(), "dtype");
    require(entry.shape.has_value(), "shape");
    require(entry.offsets.has_value(), "data_offsets");
    if (entry.offsets->size() != 2)
      fail(Code::input, "{}: data_offsets of tensor {} holds {} numbers; it must hold two, begin and end",
           file_, quote(entry.name), entry.offsets->size());
  }

  [[noreturn]] void fail_number(std::string_view text) const {
    fail(Code::input, "{}: {} of tensor {} holds {}; it must hold whole numbers from 0 to 2^63 − 1", file_,
         field_, quote(key_), text.substr(0, 40));
  }

  /// The event has the wrong JSON type, or is nested too deeply, for where we are.
  [[noreturn]] void fail_type() const {
    switch (place_) {
      case Place::start:
      case Place::table:
        fail(Code::input, "{}: header entry {} must be an object", file_, quote(key_));
      case Place::metadata:
        fail(Code::input, "{}: metadata entry {} must be a string", file_, quote(field_));
      case Place::tensor:
        fail(Code::input, "{}: {} of tensor {} must be {}", file_, field_, quote(key_),
             field_ == "dtype" ? "a string" : "an array of whole numbers");
      case Place::numbers:
        break;
    }
    fail(Code::input, "{}: {} of tensor {} must hold whole numbers only", file_, field_, quote(key_));
  }

  const std::string& file_;
  Place place_ = Place::start;
  bool seen_metadata_ = false;
  std::string key_;    ///< of the table: a tensor's name or __metadata__
  std::string field_;  ///< of the metadata or of a tensor
};

/// The JSON text, checked to be inside the file, UTF-8 and an object by its first byte.
std::string read_json(const ByteSource& source) {
  const std::string& file = source.name();
  if (source.size() < 8)
    fail(Code::input, "{}: the file has {} bytes; a safetensors file begins with 8 bytes of header length",
         file, source.size());
  std::uint64_t length = 0;
  source.read_at(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > static_cast<std::uint64_t>(source.size() - 8))
    fail(Code::input,
         "{}: the header should take {} bytes, but only {} follow its length; the file is truncated or not "
         "safetensors",
         file, length, source.size() - 8);
  if (length > static_cast<std::uint64_t>(longest_safetensors_header))
    fail(Code::input, "{}: the header takes {} bytes; at most {} are allowed", file, length,
         longest_safetensors_header);
  std::string json(length, '\0');
  source.read_at(8, std::as_writable_bytes(std::span(json)));
  if (const auto at = first_not_utf8(json))
    fail(Code::input, "{}: the header is not UTF-8 at its byte {}", file, *at);
  // The JSON parser would skip a byte order mark, and take a zero byte for the end of the text.
  if (!json.starts_with('{')) fail(Code::input, "{}: the header must begin with '{{'", file);
  if (const auto at = json.find('\0'); at != std::string::npos)
    fail(Code::input, "{}: the header is not JSON: its byte {} is zero", file, at);
  return json;
}

/// `bytes` of an entry are exactly those between its offsets, and these lie in the data.
void check_range(const std::string& file, const Entry& entry, std::int64_t data_bytes) {
  const std::int64_t begin = (*entry.offsets)[0];
  const std::int64_t end = (*entry.offsets)[1];
  const auto bytes = bytes_of(*entry.dtype, *entry.shape);
  if (!bytes)
    fail(Code::input, "{}: tensor {} of shape {} is larger than any file; its bytes must fit 63 bits", file,
         quote(entry.name), shape_text(*entry.shape));
  if (begin > end)
    fail(Code::input, "{}: data_offsets of tensor {} are [{}, {}]; the first must not be above the second",
         file, quote(entry.name), begin, end);
  if (end > data_bytes)
    fail(Code::input,
         "{}: tensor {} should end at byte {} of the data, but the file has only {}; it is truncated or "
         "its header is wrong",
         file, quote(entry.name), end, data_bytes);
  if (*bytes != end - begin)
    fail(Code::input, "{}: tensor {} takes {} bytes in the file, but {} {} needs {}", file,
         quote(entry.name), end - begin, name_of(*entry.dtype), shape_text(*entry.shape), *bytes);
}

/// Every byte of the data belongs to one tensor. `order` lists the entries by where they begin.
void check_cover(const std::string& file, const std::vector<Entry>& entries,
                 const std::vector<std::size_t>& order, std::int64_t data_bytes) {
  std::int64_t covered = 0;
  const Entry* last = nullptr;
  for (const std::size_t i : order) {
    const Entry& entry = entries[i];
    const std::int64_t begin = (*entry.offsets)[0];
    if (begin < covered)
      fail(Code::input, "{}: tensors {} and {} overlap; each must have bytes of its own", file,
           quote(last->name), quote(entry.name));
    if (begin > covered)
      fail(Code::input, "{}: bytes {} to {} of the data, before tensor {}, belong to no tensor", file,
           covered, begin, quote(entry.name));
    covered = (*entry.offsets)[1];
    last = &entry;
  }
  if (covered != data_bytes)
    fail(Code::input, "{}: the last {} bytes belong to no tensor; the data should have {} bytes and has {}",
         file, data_bytes - covered, covered, data_bytes);
}

}  // namespace

SafetensorsHeader read_safetensors_header(const ByteSource& source) {
  const std::string& file = source.name();
  const std::string json = read_json(source);
  TableReader table(file);
  Json::sax_parse(json.begin(), json.end(), &table);

  const auto data_start = 8 + static_cast<std::int64_t>(json.size());
  const std::int64_t data_bytes = source.size() - data_start;
  std::unordered_set<std::string_view> names;
  for (const Entry& entry : table.entries) {
    if (!names.insert(entry.name).second)
      fail(Code::input, "{}: two tensors are called {}; names must differ", file, quote(entry.name));
    check_range(file, entry, data_bytes);
  }

  std::vector<std::size_t> order(table.entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    const auto& offsets = *table.entries[i].offsets;
    return std::pair(offsets[0], offsets[1]);
  });
  check_cover(file, table.entries, order, data_bytes);

  SafetensorsHeader header{.metadata = std::move(table.metadata), .tensors = {}, .start = {}};
  for (const std::size_t i : order) {
    Entry& entry = table.entries[i];
    header.start.push_back(data_start + (*entry.offsets)[0]);
    header.tensors.push_back({std::move(entry.name), *entry.dtype, std::move(*entry.shape)});
  }
  return header;
}

}  // namespace tamis
