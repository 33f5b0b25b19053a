// Profiles as JSON. Numbers that are not finite are null; members that are not known are ignored.
#include "profile/profile_file.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include <tamis/info.h>
#include <tamis/text.h>

#include "core/fail.h"
#include "io/text.h"
#include "profile/profile_fields.h"

namespace tamis {
namespace {

using Json = nlohmann::ordered_json;
/// Members are looked for by name: in a tree, since a file may hold an object of millions.
using Parsed = nlohmann::json;

constexpr const char* format_name = "tamis-profile";
constexpr std::int64_t format_version = 1;
/// Far beyond a profile of any model; a larger file is something else.
constexpr std::int64_t longest_profile = 100'000'000;
constexpr std::uint64_t most_offset = std::numeric_limits<std::int64_t>::max();

template <class T>
constexpr bool is_vector = false;
template <class T>
constexpr bool is_vector<std::vector<T>> = true;
template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

// ---- Writing ----

class Writer {
 public:
  template <class T>
  void operator()(const char* name, T& value) {
    json[name] = of(value);
  }
  Json json = Json::object();

 private:
  template <class T>
  static Json of(T& value) {
    if constexpr (std::is_same_v<T, double>) {
      return std::isfinite(value) ? Json(value) : Json();
    } else if constexpr (std::is_same_v<T, std::string> || std::is_integral_v<T>) {
      return value;
    } else if constexpr (std::is_same_v<T, Law>) {
      return name_of(value);
    } else if constexpr (std::is_same_v<T, Offset>) {
      return value.value;
    } else if constexpr (std::is_same_v<T, Budget>) {
      return to_string(value);
    } else if constexpr (is_optional<T>) {
      return value ? of(*value) : Json();
    } else if constexpr (is_vector<T>) {
      Json array = Json::array();
      for (auto& element : value) array.push_back(of(element));
      return array;
    } else {
      Writer inner;
      fields(inner, value);
      return std::move(inner.json);
    }
  }
};

// ---- Reading ----

class Reader {
 public:
  Reader(const std::string& file, std::string place, const Parsed& json)
      : file_(file), place_(std::move(place)), json_(json) {
    if (!json.is_object()) wrong("an object");
  }

  template <class T>
  void operator()(const char* name, T& value) const {
    const auto found = json_.find(name);
    const std::string place = place_.empty() ? name : place_ + "." + name;
    if (found == json_.end()) fail(Code::input, "{}: there is no member {}; give a profile", file_, place);
    read(place, *found, value);
  }

 private:
  template <class T>
  void read(const std::string& place, const Parsed& json, T& value) const {
    const auto want = [&](bool right, const char* what) {
      if (!right) fail(Code::input, "{}: {} must be {}", file_, place, what);
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
    } else if constexpr (std::is_same_v<T, Law>) {
      want(json.is_string(), "the name of a law");
      value = law_of(place, json.get<std::string>());
    } else if constexpr (std::is_same_v<T, Budget>) {
      want(json.is_string(), "a budget such as \"mass:0.05\"");
      value = budget_of(place, json.get<std::string>());
    } else if constexpr (std::is_same_v<T, Offset>) {
      want(json.is_number_integer() &&
               (!json.is_number_unsigned() || json.get<std::uint64_t>() <= most_offset),
           "a whole number");
      value.value = json.get<std::int64_t>();
    } else if constexpr (std::is_integral_v<T>) {
      want(json.is_number_unsigned() &&
               json.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<T>::max()},
           "a whole number, at least 0");
      value = static_cast<T>(json.get<std::uint64_t>());
    } else if constexpr (is_optional<T>) {
      if (json.is_null()) {
        value.reset();
      } else {
        read(place, json, value.emplace());
      }
    } else if constexpr (is_vector<T>) {
      want(json.is_array(), "an array");
      value.clear();
      for (std::size_t i = 0; i < json.size(); ++i)
        read(fmt::format("{}[{}]", place, i), json[i], value.emplace_back());
    } else {
      Reader inner(file_, place, json);
      fields(inner, value);
    }
  }

  [[nodiscard]] Law law_of(const std::string& place, const std::string& name) const {
    for (const Law law :
         {Law::constant, Law::logarithmic, Law::power, Law::linear, Law::gaussian, Law::none})
      if (name_of(law) == name) return law;
    fail(Code::input, "{}: {} is {}; there is no such law", file_, place, quote(name));
  }
  [[nodiscard]] Budget budget_of(const std::string& place, const std::string& text) const try {
    return parse_budget(text);
  } catch (const Error& error) {
    fail(Code::input, "{}: {}: {}", file_, place, error.what());
  }
  [[noreturn]] void wrong(const char* what) const {
    fail(Code::input, "{}: {} must be {}", file_, place_.empty() ? "a profile" : place_, what);
  }

  const std::string& file_;
  std::string place_;
  const Parsed& json_;
};

/// What `compare_profiles` and others rely on.
void check_heads(const std::string& file, const Profile& profile) {
  if (profile.options.rows.eps.empty()) fail(Code::input, "{}: eps must not be empty", file);
  for (std::size_t i = 0; i < profile.heads.size(); ++i) {
    const HeadProfile& head = profile.heads[i];
    if (head.by_eps.size() != profile.options.rows.eps.size())
      fail(Code::input, "{}: heads[{}] has {} eps where the profile has {}", file, i, head.by_eps.size(),
           profile.options.rows.eps.size());
    for (std::size_t e = 0; e < head.by_eps.size(); ++e)
      if (head.by_eps[e].eps != profile.options.rows.eps[e])
        fail(Code::input, "{}: heads[{}] has eps {} where the profile has {}", file, i, head.by_eps[e].eps,
             profile.options.rows.eps[e]);
    if (i > 0 && std::pair(head.layer, head.head) <=
                     std::pair(profile.heads[i - 1].layer, profile.heads[i - 1].head))
      fail(Code::input, "{}: heads[{}] is head {} of layer {}; heads must ascend, each once", file, i,
           head.head, head.layer);
  }
}

Parsed parse_json(const std::string& file, const std::string& text) try {
  return Parsed::parse(text);
} catch (const Parsed::out_of_range& error) {
  // Its message ends with the number in quotes; nothing else in a text is out of range.
  const std::string_view message = error.what();
  const std::size_t quote_at = std::min(message.find('\''), message.size());
  fail(Code::input, "{}: the number {} is too large for a double; give a profile", file,
       printable(message.substr(quote_at, 80)));
} catch (const Parsed::exception&) {
  fail(Code::input, "{}: is not JSON; give a profile", file);
}

}  // namespace

std::string profile_text(const Profile& profile) {
  Profile copy = profile;  // fields() reads and writes through the same references
  Writer writer;
  writer.json["format"] = format_name;
  writer.json["version"] = format_version;
  writer.json["tamis"] = version();
  fields(writer, copy);
  return writer.json.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
}

void write_profile(const std::string& path, const Profile& profile) {
  write_text(path, profile_text(profile));
}

Profile parse_profile(const ByteSource& source) {
  if (source.size() > longest_profile)
    fail(Code::input, "{}: has {} bytes; a profile has at most {}", source.name(), source.size(),
         longest_profile);
  const Parsed json = parse_json(source.name(), read_all(source));
  if (!json.is_object() || json.value("format", Parsed()) != format_name)
    fail(Code::input, "{}: is not a profile that `tamis profile --out` wrote (\"format\" must be \"{}\")",
         source.name(), format_name);
  if (json.value("version", Parsed()) != format_version)
    fail(Code::input, "{}: is a profile of a version that this tamis does not read; it reads {}",
         source.name(), format_version);
  Profile profile;
  Reader reader(source.name(), "", json);
  fields(reader, profile);
  check_heads(source.name(), profile);
  return profile;
}

Profile read_profile(const std::string& path) { return parse_profile(*open_file(path)); }

}  // namespace tamis
