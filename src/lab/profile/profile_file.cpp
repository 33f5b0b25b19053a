// Writes profiles as JSON and reads them.
#include "lab/profile/profile_file.h"

#include <map>
#include <string>
#include <utility>

#include "core/fail.h"
#include "lab/io/json_fields.h"
#include "lab/profile/profile_fields.h"

namespace tamis::lab {

template <class A>
void fields(A& a, HeadBudget& head) {
  a("layer", head.layer);
  a("head", head.head);
  a("budget", head.budget);
}

namespace {

/// Far longer than a profile of any model; a larger file is not a profile.
constexpr io::JsonFormat profile_format{.a_file = "a profile",
                                        .format = "tamis-profile",
                                        .version = 1,
                                        .longest = 100'000'000,
                                        .written_by = "tamis profile --out"};

/// Checks what `compare_profiles` and others rely on.
void check_heads(const std::string& file, const Profile& profile) {
  if (profile.options.rows.eps.empty()) core::fail(Code::input, "{}: eps must not be empty", file);
  for (std::size_t i = 0; i < profile.heads.size(); ++i) {
    const HeadProfile& head = profile.heads[i];
    if (head.by_eps.size() != profile.options.rows.eps.size())
      core::fail(Code::input, "{}: heads[{}] has {} eps where the profile has {}", file, i,
                 head.by_eps.size(), profile.options.rows.eps.size());
    for (std::size_t e = 0; e < head.by_eps.size(); ++e)
      if (head.by_eps[e].eps != profile.options.rows.eps[e])
        core::fail(Code::input, "{}: heads[{}] has eps {} where the profile has {}", file, i,
                   head.by_eps[e].eps, profile.options.rows.eps[e]);
    if (i > 0 && std::pair(head.layer, head.head) <=
                     std::pair(profile.heads[i - 1].layer, profile.heads[i - 1].head))
      core::fail(Code::input, "{}: heads[{}] is head {} of layer {}; heads must ascend, each once",
                 file, i, head.head, head.layer);
  }
}

}  // namespace

std::string profile_text(const Profile& profile) {
  Profile copy = profile;  // fields() takes references that are not const
  io::JsonWriter writer(profile_format);
  fields(writer, copy);
  return writer.text();
}

void write_profile(const std::string& path, const Profile& profile) {
  write_text(path, profile_text(profile));
}

Profile profiling::parse_profile(const core::ByteSource& source) {
  const io::JsonReader::Json json = io::parse_json_file(source, profile_format);
  Profile profile;
  io::JsonReader reader(source.name(), profile_format, json);
  fields(reader, profile);
  check_heads(source.name(), profile);
  return profile;
}

Profile read_profile(const std::string& path) {
  return profiling::parse_profile(*core::open_file(path));
}

// Budgets are also read from a file that somebody wrote by hand and that holds nothing else.
std::vector<HeadBudget> profiling::parse_profile_budgets(const core::ByteSource& source) {
  const io::JsonReader::Json json = io::parse_json(source, profile_format);
  std::vector<HeadBudget> heads;
  io::JsonReader(source.name(), profile_format, json)("heads", heads);
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> first;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const auto [found, added] = first.try_emplace({heads[i].layer, heads[i].head}, i);
    if (!added)
      core::fail(Code::input,
                 "{}: heads[{}] and heads[{}] are both head {} of layer {}; a head may occur once",
                 source.name(), found->second, i, heads[i].head, heads[i].layer);
  }
  return heads;
}

std::vector<HeadBudget> read_profile_budgets(const std::string& path) {
  return profiling::parse_profile_budgets(*core::open_file(path));
}

}  // namespace tamis::lab
