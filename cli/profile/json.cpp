// --json: the profile as its file has it, and what this run adds.
#include <nlohmann/json.hpp>

#include <tamis/info.h>

#include "profile/report.h"
#include "terminal/json.h"

namespace tamis::cli {
namespace {

using nlohmann::ordered_json;

ordered_json against_json(const Profile& profile, const Profile& other, const std::string& path) {
  ordered_json heads = ordered_json::array();
  for (const HeadDifference& difference : compare_profiles(profile, other)) {
    const SupportProfile& a = difference.a->by_eps.front();
    const SupportProfile& b = difference.b->by_eps.front();
    heads.push_back({{"layer", difference.a->layer},
                     {"head", difference.a->head},
                     {"k_eps", {a.k_eps.median, b.k_eps.median}},
                     {"k_ratio", difference.k_ratio},
                     {"C", {a.law.C, b.law.C}},
                     {"exponents_apart", difference.exponents_apart},
                     {"law", {name_of(a.law.law), name_of(b.law.law)}},
                     {"law_differs", difference.law_differs}});
  }
  return {{"file", path}, {"trace", other.trace}, {"heads", heads}};
}

}  // namespace

std::string profile_json(const ProfileReport& report) {
  ordered_json json = ordered_json::parse(profile_text(report.profile));
  if (report.against) json["against"] = against_json(report.profile, *report.against, report.against_path);
  json["target"] = target();
  json["backend"] = report.backend;
  json["threads"] = report.threads;
  json["seconds"] = report.seconds;
  return json_text(json);
}

}  // namespace tamis::cli
