#include "terminal/complain.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "terminal/json.h"

namespace tamis::cli {

int complain(int status, const std::string& sentence) {
  fmt::print(stderr, "tamis: {}\n", sentence);
  return status;
}

int status_of(Code code) { return code == Code::usage || code == Code::input ? 2 : 3; }

std::string error_json(Code code, const std::string& sentence) {
  const char* name = code == Code::usage ? "usage" : code == Code::input ? "input" : "failed";
  return json_text({{"error", {{"code", name}, {"message", sentence}}}});
}

}  // namespace tamis::cli
