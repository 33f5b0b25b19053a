#include "lab/io/json_keys.h"

#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

#include "core/fail.h"
#include "core/text.h"

namespace tamis::lab::io {
namespace {

using Json = nlohmann::json;

class KeyReader final : public nlohmann::json_sax<Json> {
 public:
  explicit KeyReader(const std::string& file) : file_(file) {}

  bool start_object(std::size_t) override {
    open_.emplace_back();
    return true;
  }
  bool end_object() override {
    open_.pop_back();
    return true;
  }
  bool key(std::string& key) override {
    const auto [there, is_new] = open_.back().insert(std::move(key));
    if (!is_new)
      core::fail(Code::input, "{}: an object has two members {}; each may be there once", file_,
                 core::quote(*there));
    return true;
  }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool string(std::string&) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool binary(Json::binary_t&) override { return true; }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  const std::string& file_;
  std::vector<std::unordered_set<std::string>> open_;  ///< keys so far of each open object
};

}  // namespace

void refuse_repeated_keys(const std::string& file, std::string_view text) {
  KeyReader reader(file);
  Json::sax_parse(text.begin(), text.end(), &reader);
}

}  // namespace tamis::lab::io
