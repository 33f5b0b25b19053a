// A user's program in C++: finds tamis, attends, and catches an error thrown inside the library.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <tamis/attend.h>
#include <tamis/attention.h>
#include <tamis/budget.h>
#include <tamis/cache.h>
#include <tamis/dtype.h>
#include <tamis/error.h>
#include <tamis/export.h>
#include <tamis/heads.h>
#include <tamis/info.h>
#include <tamis/kv.h>
#include <tamis/view.h>
#include <tamis/workspace.h>

int main() {
  tamis::Shape shape;
  shape.head_dim = 2;
  shape.value_dim = 1;
  const std::vector<float> q{1, 0};
  const std::vector<float> k{0, 5, 0, -5};  // both logits are 0: the output is the mean
  const std::vector<float> v{1, 3};
  const tamis::PageTables tables(tamis::DType::f32, k.data(), v.data(), 1, 2, 2, 1);
  tamis::Workspace workspace(1);
  float out = 0;
  float lse = 0;
  tamis::dense(shape, {q.data(), 1, 2}, tables.heads(), {}, workspace, {&out, 1, 1}, {&lse, 1});
  if (std::abs(out - 2) > 1e-6F || std::abs(lse - std::log(2.0F)) > 1e-6F) {
    std::printf("out %g, lse %g: expected 2 and log 2\n", static_cast<double>(out),
                static_cast<double>(lse));
    return 1;
  }
  try {
    tamis::parse_budget("half");
    std::puts("a budget that is none was taken");
    return 1;
  } catch (const tamis::Error& error) {
    if (std::string(error.what()).find("half") == std::string::npos) {
      std::printf("the message does not say what was given: %s\n", error.what());
      return 1;
    }
  }
  std::printf("C++ program: tamis %s on %s\n", std::string(tamis::version()).c_str(),
              std::string(tamis::target()).c_str());
}
