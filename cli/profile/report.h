// What `tamis profile` prints and writes of a profile.
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

/// Tables for people.
std::string profile_table(const ProfileReport& report);
/// The profile file with what the run adds, as one object.
std::string profile_json(const ProfileReport& report);
/// A Vega-Lite 5 page with its data inside: growth of k_eps by head, laws by layer and head,
/// collapse.
std::string vega_text(const lab::Profile& profile);

/// Parts of the tables.
std::string head_tables(const lab::Profile& profile);
std::string law_summary(const lab::Profile& profile);
std::string rules_table(const lab::Profile& profile);
std::string collapse_table(const lab::Profile& profile);
std::string norm_table(const lab::Profile& profile);
std::string against_table(const lab::Profile& profile, const lab::Profile& other,
                          const std::string& path);

/// "1%", "0.1%".
std::string eps_text(double eps);
/// Three digits or a whole number, "-" for what could not be had; the same for a share of 1.
std::string number(double value);
std::string mass(double share);
std::string percent(double share);

/// Figures of every row, layer by layer, written as safetensors when all are there.
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
