// Reads and writes JSON files whose members are described once for both: a function fields(archive,
// value) passes every member of `value` to the archive, in the order of the file. Numbers that are
// not finite are written as null. Reading ignores unknown members, and refuses a missing, wrong or
// repeated one with a sentence that names it.
//
// A type that is a word in the file needs two functions beside it,
//   std::string json_word(const T&)      and      void from_json_word(const std::string&, T&)
// The second throws an Error whose sentence says what is wrong.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <tamis/info.h>
#include <tamis/text.h>

#include "core/fail.h"
#include "core/file.h"
#include "core/text.h"
#include "lab/io/json_keys.h"

namespace tamis::lab::io {

/// A whole number that may be negative.
struct SignedWhole {
  std::int64_t value = 0;
};

/// Describes a file format for checks and messages.
struct JsonFormat {
  const char* a_file;        ///< such as "a profile"
  const char* format;        ///< the member "format", such as "tamis-profile"
  std::int64_t version = 1;  ///< the only version that is read
  std::int64_t longest = 0;  ///< in bytes
  const char* written_by;    ///< such as "tamis profile --out"
};

namespace json_detail {
template <class T>
constexpr bool is_vector = false;
template <class T>
constexpr bool is_vector<std::vector<T>> = true;
template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;
template <class T>
concept Word = requires(T& value, const std::string& text) {
  { json_word(value) } -> std::convertible_to<std::string>;
  from_json_word(text, value);
};
}  // namespace json_detail

class JsonWriter {
 public:
  using Json = nlohmann::ordered_json;

  explicit JsonWriter(const JsonFormat& format)
      : json{{"format", format.format}, {"version", format.version}, {"tamis", version()}} {}

  template <class T>
  void operator()(const char* name, T& value) {
    json[name] = of(value);
  }
  [[nodiscard]] std::string text() const {
    return json.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
  }
  Json json = Json::object();

 private:
  JsonWriter() = default;

  template <class T>
  static Json of(T& value) {
    if constexpr (std::is_same_v<T, double>) {
      return std::isfinite(value) ? Json(value) : Json();
    } else if constexpr (std::is_same_v<T, std::string> || std::is_integral_v<T>) {
      return value;
    } else if constexpr (std::is_same_v<T, SignedWhole>) {
      return value.value;
    } else if constexpr (json_detail::Word<T>) {
      return json_word(value);
    } else if constexpr (json_detail::is_optional<T>) {
      return value ? of(*value) : Json();
    } else if constexpr (json_detail::is_vector<T>) {
      Json array = Json::array();
      for (auto& element : value) array.push_back(of(element));
      return array;
    } else {
      JsonWriter inner;
      fields(inner, value);
      return std::move(inner.json);
    }
  }
};

class JsonReader {
 public:
  /// This type keeps members in a tree, because an object in a file may have millions of members
  /// and they are looked up by name.
  using Json = nlohmann::json;

  JsonReader(const std::string& file, const JsonFormat& format, const Json& json)
      : JsonReader(file, format, "", json) {}

  template <class T>
  void operator()(const char* name, T& value) const {
    const auto found = json_.find(name);
    const std::string place = place_.empty() ? name : place_ + "." + name;
    if (found == json_.end())
      core::fail(Code::input, "{}: there is no member {}; give {}", file_, place, format_.a_file);
    read(place, *found, value);
  }

 private:
  JsonReader(const std::string& file, const JsonFormat& format, std::string place, const Json& json)
      : file_(file), format_(format), place_(std::move(place)), json_(json) {
    if (!json.is_object())
      core::fail(Code::input, "{}: {} must be an object", file_,
                 place_.empty() ? format_.a_file : place_);
  }

  template <class T>
  void read(const std::string& place, const Json& json, T& value) const {
    const auto want = [&](bool right, const char* what) {
      if (!right) core::fail(Code::input, "{}: {} must be {}", file_, place, what);
    };
    if constexpr (std::is_same_v<T, double>) {
      want(json.is_number() || json.is_null(), "a number or null");
      value = json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
    } else if constexpr (std::is_same_v<T, std::string>) {
      want(json.is_string(), "a string");
      value = json.get<std::string>();
    } else if constexpr (std::is_same_v<T, bool>) {
      want(json.is_boolean(), "true or false");
      value = json.get<bool>();
    } else if constexpr (json_detail::Word<T>) {
      want(json.is_string(), "a string");
      try {
        from_json_word(json.get<std::string>(), value);
      } catch (const Error& error) {
        core::fail(Code::input, "{}: {} is {}; {}", file_, place,
                   core::quote(json.get<std::string>()), error.what());
      }
    } else if constexpr (std::is_same_v<T, SignedWhole>) {
      constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
      want(json.is_number_integer() &&
               (!json.is_number_unsigned() || json.get<std::uint64_t>() <= most),
           "a whole number");
      value.value = json.get<std::int64_t>();
    } else if constexpr (std::is_integral_v<T>) {
      want(json.is_number_unsigned() &&
               json.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<T>::max()},
           "a whole number, at least 0");
      value = static_cast<T>(json.get<std::uint64_t>());
    } else if constexpr (json_detail::is_optional<T>) {
      if (json.is_null()) {
        value.reset();
      } else {
        read(place, json, value.emplace());
      }
    } else if constexpr (json_detail::is_vector<T>) {
      want(json.is_array(), "an array");
      value.clear();
      for (std::size_t i = 0; i < json.size(); ++i)
        read(fmt::format("{}[{}]", place, i), json[i], value.emplace_back());
    } else {
      JsonReader inner(file_, format_, place, json);
      fields(inner, value);
    }
  }

  const std::string& file_;
  const JsonFormat& format_;
  std::string place_;
  const Json& json_;
};

/// Parses a file. Memory: a few times the size of the file.
inline JsonReader::Json parse_json(const core::ByteSource& source, const JsonFormat& format) {
  using Json = JsonReader::Json;
  const std::string& file = source.name();
  if (source.size() > format.longest)
    core::fail(Code::input, "{}: has {} bytes; {} has at most {}", file, source.size(),
               format.a_file, format.longest);
  const std::string text = core::read_all(source);
  const auto refuse = [&](std::size_t byte) {
    core::fail(Code::input, "{}: is not JSON from its byte {} on; give {}", file, byte,
               format.a_file);
  };
  // The parser would take a zero byte for the end of the text.
  if (const auto zero = text.find('\0'); zero != std::string::npos) refuse(zero + 1);
  Json json;
  try {
    refuse_repeated_keys(file, text);
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    refuse(error.byte);
  } catch (const Json::out_of_range& error) {
    // Only a number can be out of range, and the message ends with the number in quotes.
    const std::string_view message = error.what();
    const std::size_t quote_at = std::min(message.find('\''), message.size());
    core::fail(Code::input, "{}: the number {} is too large for a double; give {}", file,
               printable(message.substr(quote_at, 80)), format.a_file);
  }
  return json;
}

/// Parses a file and checks its format and version.
inline JsonReader::Json parse_json_file(const core::ByteSource& source, const JsonFormat& format) {
  using Json = JsonReader::Json;
  const std::string& file = source.name();
  Json json = parse_json(source, format);
  if (!json.is_object() || json.value("format", Json()) != format.format)
    core::fail(Code::input, "{}: is not {} that `{}` wrote (\"format\" must be \"{}\")", file,
               format.a_file, format.written_by, format.format);
  if (json.value("version", Json()) != format.version)
    core::fail(Code::input, "{}: is {} of a version that this tamis does not read; it reads {}",
               file, format.a_file, format.version);
  return json;
}

}  // namespace tamis::lab::io
