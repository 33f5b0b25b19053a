// JSON as every command prints it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tamis::cli {

/// Indented, and in ASCII, so that no string in it can steer a terminal. Bytes that are not UTF-8
/// become U+FFFD.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace tamis::cli
