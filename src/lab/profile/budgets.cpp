// The budgets that a profile recommends. Its JSON is read as a stream of events: of all that a
// profile holds only the budgets are kept, however large or deep the rest is.
#include "lab/profile/budgets.h"

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/fail.h"
#include "lab/io/json_keys.h"

namespace tamis::lab {
namespace {

using Json = nlohmann::json;

/// Far beyond a profile of any model; a larger file is something else.
constexpr std::int64_t longest_profile = 100'000'000;

/// Receives the JSON events. `place_` is where in the profile we are; `ignored_` counts the objects
/// and arrays open inside a member that is of no interest.
class ProfileReader final : public nlohmann::json_sax<Json> {
 public:
  explicit ProfileReader(const std::string& file) : file_(file) {}

  std::vector<HeadBudget> take() {
    if (!seen_heads_)
      core::fail(Code::input, "{}: there is no member 'heads'; it must be an array", file_);
    return std::move(heads_);
  }

  bool start_object(std::size_t) override {
    if (ignoring()) {
      ++ignored_;
    } else if (place_ == Place::start) {
      place_ = Place::profile;
    } else if (place_ == Place::heads) {
      entry_ = {};
      place_ = Place::entry;
    } else {
      fail_type();
    }
    return true;
  }

  bool end_object() override {
    if (ignored_ > 0) {
      --ignored_;
    } else if (place_ == Place::entry) {
      add_entry();
      place_ = Place::heads;
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (ignoring()) {
      ++ignored_;
    } else if (place_ == Place::profile) {
      seen_heads_ = true;
      place_ = Place::heads;
    } else {
      fail_type();
    }
    return true;
  }

  bool end_array() override {
    if (ignored_ > 0)
      --ignored_;
    else
      place_ = Place::profile;
    return true;
  }

  bool key(std::string& key) override {
    if (ignored_ == 0) key_ = std::move(key);
    return true;
  }

  bool number_unsigned(std::uint64_t value) override {
    if (ignoring()) return true;
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) fail_type();
    set_number(static_cast<std::int64_t>(value));
    return true;
  }

  bool string(std::string& value) override {
    if (ignoring()) return true;
    if (place_ != Place::entry || key_ != "budget") fail_type();
    try {
      entry_.budget = parse_budget(value);
    } catch (const Error& error) {
      if (error.code() != Code::usage) throw;
      core::fail(Code::input, "{}: heads[{}]: {}", file_, heads_.size(), error.what());
    }
    return true;
  }

  bool number_integer(std::int64_t) override { return other(); }
  bool number_float(double, const std::string&) override { return other(); }
  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool binary(Json::binary_t&) override { return other(); }

  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    core::fail(Code::input, "{}: is not JSON from its byte {} on; give a profile", file_, position);
  }

 private:
  enum class Place { start, profile, heads, entry };

  /// What entry heads_.size() has had so far.
  struct Entry {
    std::optional<std::int64_t> layer;
    std::optional<std::int64_t> head;
    std::optional<Budget> budget;
  };

  /// The event belongs to a member that a profile may have and that says nothing about budgets.
  [[nodiscard]] bool ignoring() const {
    if (ignored_ > 0) return true;
    if (place_ == Place::profile) return key_ != "heads";
    return place_ == Place::entry && key_ != "layer" && key_ != "head" && key_ != "budget";
  }

  /// A value that is right nowhere but in a member that is ignored.
  bool other() {
    if (!ignoring()) fail_type();
    return true;
  }

  void set_number(std::int64_t value) {
    if (place_ != Place::entry || key_ == "budget") fail_type();
    (key_ == "layer" ? entry_.layer : entry_.head) = value;
  }

  void add_entry() {
    const auto require = [this](bool present, std::string_view field) {
      if (!present)
        core::fail(Code::input, "{}: heads[{}] has no member '{}'", file_, heads_.size(), field);
    };
    require(entry_.layer.has_value(), "layer");
    require(entry_.head.has_value(), "head");
    require(entry_.budget.has_value(), "budget");
    const auto [first, added] = places_.try_emplace({*entry_.layer, *entry_.head}, heads_.size());
    if (!added)
      core::fail(Code::input,
                 "{}: heads[{}] and heads[{}] are both head {} of layer {}; a head may occur once",
                 file_, first->second, heads_.size(), *entry_.head, *entry_.layer);
    heads_.push_back({*entry_.layer, *entry_.head, *entry_.budget});
  }

  /// The event has the wrong JSON type for where we are.
  [[noreturn]] void fail_type() const {
    switch (place_) {
      case Place::start:
        core::fail(Code::input, "{}: a profile must be a JSON object with a member 'heads'", file_);
      case Place::profile:
        core::fail(Code::input, "{}: the member 'heads' must be an array", file_);
      case Place::heads:
        core::fail(Code::input, "{}: heads[{}] must be an object", file_, heads_.size());
      case Place::entry:
        break;
    }
    core::fail(Code::input, "{}: heads[{}].{} must be {}", file_, heads_.size(), key_,
               key_ == "budget" ? "a string such as \"mass:0.05\"" : "a whole number, at least 0");
  }

  const std::string& file_;
  Place place_ = Place::start;
  std::int64_t ignored_ = 0;
  bool seen_heads_ = false;
  std::string key_;  ///< of the profile or of the entry
  Entry entry_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> places_;  ///< of each head in heads_
  std::vector<HeadBudget> heads_;
};

}  // namespace

std::vector<HeadBudget> profiling::parse_profile_budgets(const core::ByteSource& source) {
  if (source.size() > longest_profile)
    core::fail(Code::input, "{}: has {} bytes; a profile has at most {}", source.name(),
               source.size(), longest_profile);
  const std::string text = core::read_all(source);
  // The JSON parser would take a zero byte for the end of the text.
  if (const auto at = text.find('\0'); at != std::string::npos)
    core::fail(Code::input, "{}: is not JSON from its byte {} on; give a profile", source.name(),
               at + 1);
  io::refuse_repeated_keys(source.name(), text);
  ProfileReader reader(source.name());
  Json::sax_parse(text, &reader);
  return reader.take();
}

std::vector<HeadBudget> read_profile_budgets(const std::string& path) {
  return profiling::parse_profile_budgets(*core::open_file(path));
}

}  // namespace tamis::lab
