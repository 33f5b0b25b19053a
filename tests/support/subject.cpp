#include "support/subject.h"

#include <fmt/format.h>

#include <utility>

#include "support/sieve.h"

namespace tamis::testing {
namespace {

struct Mode {
  const char* name;
  bool ladder;
  bool fewest_bytes;
  bool forecast;
  bool values;
};

std::optional<Certified> ask(const Question& question, const Budget& budget, const Mode& mode,
                             Workspace& workspace) {
  const Shape& shape = question.shape;
  Index index({shape.dtype, 1, shape.head_dim, shape.value_dim, question.sinks, mode.values});
  SieveCall call;
  call.index = &index;
  call.shape = shape;
  call.q = question.q;
  call.kv = question.kv;
  call.budgets = {&budget, 1};
  call.ladder = mode.ladder;
  call.fewest_bytes = mode.fewest_bytes;
  call.forecast = mode.forecast;
  index.extend(without_last(question.kv, question.tail), workspace);
  std::optional<SieveResult> result = run_attend(call, workspace);
  if (!result) return std::nullopt;
  Certified answer{std::move(result->out), std::move(result->lse), std::move(result->weights), {}};
  for (const Certificate& c : result->certificates)
    answer.claims.push_back({c.tau, c.error, c.lse_error, !c.dense});
  return answer;
}

}  // namespace

std::vector<Way> ways_of_sieve() {
  constexpr Mode modes[] = {{"", true, true, true, true},
                            {", ladder off", false, true, true, true},
                            {", no 4-bit values", true, true, true, false},
                            // Budgets of mass alone ask for these.
                            {", forecast off", true, true, false, true},
                            {", direct", true, false, false, true},
                            {", ladder off, forecast off", false, true, false, true},
                            {", ladder off, soon", false, false, false, true}};
  std::vector<Way> ways;
  for (const char* text : {"window:1,0", "window:128,4", "topk:1", "topk:40", "topk:130", "power:9,0.5",
                           "bytes:0.6", "bytes:0.85", "mass:0.5", "mass:0.05", "mass:0.001"}) {
    const Budget budget = parse_budget(text);
    for (const Mode& mode : modes) {
      if (budget.kind != Budget::Kind::mass && &mode >= modes + 3) break;
      if (budget.kind == Budget::Kind::window && &mode != modes) break;  // it drops keys in any mode
      ways.push_back({fmt::format("{}{}", text, mode.name),
                      [budget, mode](const Question& question, Workspace& workspace) {
                        return ask(question, budget, mode, workspace);
                      }});
    }
  }
  return ways;
}

}  // namespace tamis::testing
