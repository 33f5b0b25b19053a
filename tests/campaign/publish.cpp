// Shared by all reports of the campaign: the processor's name, and printing and writing a report.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "campaign/campaign.h"

namespace tamis::test {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string name = "unknown processor";
  std::string family;  // makes model names that only name the vendor more specific
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const auto value = [&] { return line.substr(std::min(line.size(), line.find(':') + 2)); };
    if (line.starts_with("model name")) name = value();
    if (line.starts_with("cpu family")) family = fmt::format(", family {}", value());
  }
  return name + family;
}

void publish(const std::string& report, const CampaignOptions& options) {
  fmt::print("{}", report);
  if (options.out.empty()) return;
  std::ofstream file(options.out, std::ios::trunc);
  file << report;
  if (!file.flush()) throw std::runtime_error(fmt::format("{} cannot be written", options.out));
}

}  // namespace tamis::test
