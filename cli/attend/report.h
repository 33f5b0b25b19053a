// What `tamis attend` prints, and the file it writes.
#pragma once

#include <string>
#include <vector>

#include <tamis/trace.h>

#include "attend/layer.h"

namespace tamis::cli {

struct AttendReport {
  bool checked = false;
  int threads = 1;
  std::string backend;
  std::vector<LayerResult> layers;

  [[nodiscard]] std::int64_t violations() const;
};

std::string json_text(const Trace& trace, const AttendReport& report);
std::string table_text(const Trace& trace, const AttendReport& report);
/// The layout is in the manual of `tamis attend`. Same results, same bytes.
void write_results(const std::string& path, const Trace& trace, const AttendReport& report);

}  // namespace tamis::cli
