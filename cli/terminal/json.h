// The form in which every command prints JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tamis::cli {

/// Returns indented JSON in ASCII, so that no string in it can control a terminal. Bytes that are
/// not UTF-8 become U+FFFD.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace tamis::cli
