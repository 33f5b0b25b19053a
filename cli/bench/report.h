// What `tamis bench` prints.
#pragma once

#include <string>

#include "bench/measure.h"

namespace tamis::cli {

struct BenchReport {
  BenchShape shape;
  BenchSettings settings;
  std::string keys;    ///< "synthetic", or the trace's file
  std::string budget;  ///< the budget asked for, in its shortest form
  int threads = 1;
  std::string cpu;
  Measured measured;
};

std::string json_text(const BenchReport& report);
std::string table_text(const BenchReport& report);

}  // namespace tamis::cli
