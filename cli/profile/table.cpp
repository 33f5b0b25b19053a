// The page that `tamis profile` prints.
#include <fmt/format.h>

#include <algorithm>

#include <tamis/info.h>
#include <tamis/text.h>

#include "profile/report.h"

namespace tamis::cli {

std::string profile_table(const ProfileReport& report) {
  const lab::Profile& profile = report.profile;
  std::string text = fmt::format(
      "{}: {} heads in {} {}, {} queries each, {} tokens{}\n\n", printable(profile.trace),
      profile.heads.size(), profile.layers.size(), profile.layers.size() == 1 ? "layer" : "layers",
      profile.queries, profile.tokens, profile.causal ? "" : ", every query sees all of them");
  text += head_tables(profile);
  text += law_summary(profile) + "\n";
  text += rules_table(profile);
  text += norm_table(profile);
  text += collapse_table(profile) + "\n";
  if (report.against) text += against_table(profile, *report.against, report.against_path) + "\n";
  text +=
      "Medians over rows. k: fewest keys that hold all mass but that share; null k: of Gaussian "
      "logits of the same spread;\n"
      "growth: k over lengths; held out: rows that alpha*n^C served, of those it was not made "
      "from. Rows of one text are not\n"
      "exchangeable with those of another, and nothing is promised beyond the lengths seen.\n";
  return text +
         fmt::format("{:.3f} s on {} threads ({})\n", report.seconds, report.threads, target());
}

}  // namespace tamis::cli
