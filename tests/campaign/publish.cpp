// What every report of the campaign needs: the machine's name, and being printed and written.
#include <fmt/format.h>

#include <fstream>
#include <stdexcept>

#include "campaign/campaign.h"

namespace tamis::testing {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

void publish(const std::string& report, const CampaignOptions& options) {
  fmt::print("{}", report);
  if (options.out.empty()) return;
  std::ofstream file(options.out, std::ios::trunc);
  file << report;
  if (!file.flush()) throw std::runtime_error(fmt::format("{} cannot be written", options.out));
}

}  // namespace tamis::testing
