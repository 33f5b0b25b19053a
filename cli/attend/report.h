// What `tamis attend` prints, and the file it writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tamis/lab/trace.h>

#include "attend/result.h"

namespace tamis::cli {

/// The budget that limited reading.
struct Reading {
  std::string budget;  ///< as it was given
  std::string label;   ///< for files that are written: without folders
  int bits = 0;
};

struct AttendReport {
  std::optional<Reading> reading;  ///< nothing under --dense
  bool checked = false;
  int threads = 1;
  std::string backend;
  std::vector<LayerResult> layers;
};

std::string json_text(const lab::Trace& trace, const AttendReport& report);
std::string table_text(const lab::Trace& trace, const AttendReport& report);
/// Writes the file of --out, whose layout the manual of `tamis attend` describes. The same results
/// give the same bytes.
void write_results(const std::string& path, const lab::Trace& trace, const AttendReport& report);

}  // namespace tamis::cli
