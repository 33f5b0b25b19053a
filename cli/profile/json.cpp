// The object of --json: the members of the profile file and what this run adds.
#include <nlohmann/json.hpp>

#include <tamis/info.h>

#include "profile/report.h"
#include "terminal/json.h"

namespace tamis::cli {
namespace {

using nlohmann::ordered_json;

ordered_json against_json(const lab::Profile& profile, const lab::Profile& other,
                          const std::string& path) {
  ordered_json heads = ordered_json::array();
  for (const lab::HeadDifference& difference : lab::compare_profiles(profile, other)) {
    const lab::KEpsProfile& a = difference.a->by_eps.front();
    const lab::KEpsProfile& b = difference.b->by_eps.front();
    heads.push_back({{"layer", difference.a->layer},
                     {"head", difference.a->head},
                     {"k_eps", {a.k_eps.median, b.k_eps.median}},
                     {"k_ratio", difference.k_ratio},
                     {"C", {a.law.C, b.law.C}},
                     {"exponents_apart", difference.exponents_apart},
                     {"law", {lab::name_of(a.law.law), lab::name_of(b.law.law)}},
                     {"law_differs", difference.law_differs}});
  }
  return {{"file", path}, {"trace", other.trace}, {"heads", heads}};
}

}  // namespace

std::string profile_json(const ProfileReport& report) {
  ordered_json json = ordered_json::parse(lab::profile_text(report.profile));
  if (report.against)
    json["against"] = against_json(report.profile, *report.against, report.against_path);
  json["target"] = target();
  json["backend"] = report.backend;
  json["threads"] = report.threads;
  json["seconds"] = report.seconds;
  return json_text(json);
}

}  // namespace tamis::cli
