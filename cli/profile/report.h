// What `tamis profile` prints and writes about a profile.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tamis/lab/profile.h>

namespace tamis::cli {

struct ProfileReport {
  const lab::Profile& profile;
  std::optional<lab::Profile> against;
  std::string against_path;
  std::string backend;
  int threads = 1;
  double seconds = 0;
};

/// Returns the tables that are printed.
std::string profile_table(const ProfileReport& report);
/// Returns the profile's JSON object with the members that this run adds.
std::string profile_json(const ProfileReport& report);
/// Returns a Vega-Lite 5 specification with its data inside. Its charts are the growth of k_eps by
/// head, the laws by layer and head, and collapse.
std::string vega_text(const lab::Profile& profile);

/// The parts of profile_table.
std::string head_tables(const lab::Profile& profile);
std::string law_summary(const lab::Profile& profile);
std::string rules_table(const lab::Profile& profile);
std::string collapse_table(const lab::Profile& profile);
std::string norm_table(const lab::Profile& profile);
std::string against_table(const lab::Profile& profile, const lab::Profile& other,
                          const std::string& path);

/// "1%", "0.1%".
std::string eps_text(double eps);
/// Formats a number with three digits or as a whole number, or a share of 1 with three decimals
/// (`mass`). A value that is not finite becomes "-".
std::string number(double value);
std::string mass(double share);

/// Collects the figures of every row, layer by layer, and writes them as safetensors once all
/// layers are there.
class RowsFile {
 public:
  void add(const lab::TraceLayer& layer, const lab::RowFigures& figures);
  void write(const std::string& path, const lab::Profile& profile) const;

 private:
  struct Layer {
    lab::TraceLayer layer;
    lab::RowFigures figures;
    std::vector<double> support;
  };
  std::vector<Layer> layers_;
};

}  // namespace tamis::cli
