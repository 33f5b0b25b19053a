#include "support/certificates/certificates.h"

namespace tamis::test {

void Report::add(const Report& other) {
  records += other.records;
  sparse += other.sparse;
  dense += other.dense;
  violations += other.violations;
  examples.insert(other.examples.begin(), other.examples.end());
  blind += other.blind;
  empty += other.empty;
  tau.add(other.tau);
  error.add(other.error);
}

std::string text(const std::map<std::string, std::string>& examples) {
  std::string all;
  for (const auto& [claim, sentence] : examples) all += (all.empty() ? "" : "; ") + sentence;
  return all;
}

}  // namespace tamis::test
