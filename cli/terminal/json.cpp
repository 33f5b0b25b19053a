#include "terminal/json.h"

#include <nlohmann/json.hpp>

namespace tamis::cli {

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace tamis::cli
