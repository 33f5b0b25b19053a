// Reads the JSON as a stream of events straight into the table. No document is built, and anything
// nested deeper than the format allows is refused where it begins.
#include "lab/io/safetensors_table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/fail.h"
#include "core/text.h"
#include "lab/io/safetensors_header.h"

namespace tamis::lab::io {
namespace {

using Json = nlohmann::json;

/// Receives the JSON events. `place_` is the current place in the header; an event that the format
/// does not have there is an error.
class TableReader final : public nlohmann::json_sax<Json> {
 public:
  explicit TableReader(const std::string& file) : file_(file) {}

  SafetensorsTable table;

  bool start_object(std::size_t) override {
    if (place_ == Place::start) {
      place_ = Place::table;
    } else if (place_ == Place::table && key_ == "__metadata__") {
      if (seen_metadata_)
        core::fail(Code::input, "{}: the header has two entries '__metadata__'", file_);
      seen_metadata_ = true;
      place_ = Place::metadata;
    } else if (place_ == Place::table) {
      dtype_.reset();
      shape_.reset();
      offsets_.reset();
      place_ = Place::tensor;
    } else {
      fail_type();
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor) add_entry();
    place_ = Place::table;
    return true;
  }

  bool key(std::string& key) override {
    if (place_ == Place::table) {
      key_ = std::move(key);
      check_no_zero_byte("the tensor name", key_);
      return true;
    }
    field_ = std::move(key);
    if (place_ == Place::metadata) {
      check_no_zero_byte("the metadata key", field_);
      if (table.metadata.contains(field_))
        core::fail(Code::input, "{}: the metadata has two entries {}", file_, core::quote(field_));
      return true;
    }
    if (field_ != "dtype" && field_ != "shape" && field_ != "data_offsets")
      core::fail(Code::input,
                 "{}: tensor {} has a field {}; only dtype, shape and data_offsets are allowed",
                 file_, core::quote(key_), core::quote(field_));
    if (field_ == "dtype" ? dtype_.has_value() : numbers().has_value())
      core::fail(Code::input, "{}: tensor {} has two fields {}", file_, core::quote(key_),
                 core::quote(field_));
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::metadata) {
      table.metadata.emplace(field_, std::move(value));
    } else if (place_ == Place::tensor && field_ == "dtype") {
      const auto found = std::ranges::find(safetensors_dtypes, value);
      if (found == safetensors_dtypes.end())
        core::fail(Code::input, "{}: tensor {} has dtype {}; tamis reads {}", file_,
                   core::quote(key_), core::quote(value), fmt::join(safetensors_dtypes, ", "));
      dtype_ = static_cast<DType>(found - safetensors_dtypes.begin());
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
    if (place_ != Place::numbers) fail_type();
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      fail_number(std::to_string(value));
    if (numbers()->size() == most_dimensions)
      core::fail(Code::input, "{}: {} of tensor {} has more than {} numbers", file_, field_,
                 core::quote(key_), most_dimensions);
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
    core::fail(
        Code::input,
        "{}: the header is not JSON from its byte {} on; the file is damaged or not safetensors",
        file_, position);
  }

 private:
  enum class Place { start, table, metadata, tensor, numbers };

  /// Refuses zero bytes: a name ends at its first zero byte in C, so two names could become one.
  void check_no_zero_byte(std::string_view what, const std::string& name) const {
    if (name.find('\0') != std::string::npos)
      core::fail(Code::input, "{}: {} {} holds a zero byte; names must not", file_, what,
                 core::quote(name));
  }

  std::optional<std::vector<std::int64_t>>& numbers() {
    return field_ == "shape" ? shape_ : offsets_;
  }

  /// Called at the end of the object of tensor `key_`. All its fields must be present.
  void add_entry() {
    const auto require = [this](bool present, std::string_view field) {
      if (!present)
        core::fail(Code::input, "{}: tensor {} has no {}", file_, core::quote(key_), field);
    };
    require(dtype_.has_value(), "dtype");
    require(shape_.has_value(), "shape");
    require(offsets_.has_value(), "data_offsets");
    if (offsets_->size() != 2)
      core::fail(Code::input,
                 "{}: data_offsets of tensor {} holds {} numbers; it must hold two, begin and end",
                 file_, core::quote(key_), offsets_->size());
    table.entries.push_back({{key_, *dtype_, std::move(*shape_)}, (*offsets_)[0], (*offsets_)[1]});
  }

  [[noreturn]] void fail_number(std::string_view text) const {
    core::fail(Code::input,
               "{}: {} of tensor {} holds {}; it must hold whole numbers from 0 to 2^63 − 1", file_,
               field_, core::quote(key_), text.substr(0, 40));
  }

  /// Throws because the event has the wrong JSON type, or is nested too deeply, for this place.
  [[noreturn]] void fail_type() const {
    switch (place_) {
      case Place::start:
      case Place::table:
        core::fail(Code::input, "{}: header entry {} must be an object", file_, core::quote(key_));
      case Place::metadata:
        core::fail(Code::input, "{}: metadata entry {} must be a string", file_,
                   core::quote(field_));
      case Place::tensor:
        core::fail(Code::input, "{}: {} of tensor {} must be {}", file_, field_, core::quote(key_),
                   field_ == "dtype" ? "a string" : "an array of whole numbers");
      case Place::numbers:
        break;
    }
    core::fail(Code::input, "{}: {} of tensor {} must hold whole numbers only", file_, field_,
               core::quote(key_));
  }

  const std::string& file_;
  Place place_ = Place::start;
  bool seen_metadata_ = false;
  std::string key_;    ///< the last key of the table: a tensor's name or __metadata__
  std::string field_;  ///< the last key of the metadata or of a tensor
  // The fields of tensor `key_` that were read so far.
  std::optional<DType> dtype_;
  std::optional<std::vector<std::int64_t>> shape_;
  std::optional<std::vector<std::int64_t>> offsets_;
};

}  // namespace

SafetensorsTable parse_safetensors_table(const std::string& file, const std::string& json) {
  TableReader reader(file);
  Json::sax_parse(json.begin(), json.end(), &reader);
  return std::move(reader.table);
}

}  // namespace tamis::lab::io
