// What `tamis attend` prints, and the file it writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tamis/lab/trace.h>

#include "attend/result.h"

namespace tamis::cli {

/// How the reading was limited.
struct Reading {
  std::string budget;  ///< as it was given
  std::string label;   ///< as it is written to files: without folders
  int bits = 0;
};

struct AttendReport {
  std::optional<Reading> reading;  ///< none: --dense
  bool checked = false;
  int threads = 1;
  std::string backend;
  std::vector<LayerResult> layers;
};

std::string json_text(const lab::Trace& trace, const AttendReport& report);
std::string table_text(const lab::Trace& trace, const AttendReport& report);
/// The layout is in the manual of `tamis attend`. Same results, same bytes.
void write_results(const std::string& path, const lab::Trace& trace, const AttendReport& report);

}  // namespace tamis::cli
