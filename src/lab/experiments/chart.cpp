#include "lab/experiments/chart.h"

namespace tamis::lab::experiments {

std::string chart_text(const std::string& title, Json values, const Json& drawn) {
  Json chart{{"$schema", "https://vega.github.io/schema/vega-lite/v5.json"},
             {"title", title},
             {"data", {{"values", std::move(values)}}}};
  chart.update(drawn);
  return chart.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace tamis::lab::experiments
