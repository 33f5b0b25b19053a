// Pieces of Vega-Lite that the charts of sweeps share.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "lab/experiments/experiment.h"

namespace tamis::lab::experiments {

/// A quantitative channel, its scale linear, log or symlog and not forced through zero.
inline Json channel(const char* field, const char* title, const char* scale = "linear") {
  return {
      {"field", field},
      {"type", "quantitative"},
      {"title", title},
      {"scale", {{"type", scale}, {"zero", false}, {"nice", std::string_view(scale) == "linear"}}}};
}

/// A channel of names.
inline Json names(const char* field, const char* title) {
  return {{"field", field}, {"type", "nominal"}, {"title", title}};
}

/// Vega-Lite alone would sort names by alphabet: `field` of the chart's values, its names as they
/// first appear.
inline Json in_order(const char* field, const char* title, const Json& values) {
  Json order = Json::array();
  for (const Json& value : values)
    if (std::ranges::find(order, value.at(field)) == order.end()) order.push_back(value.at(field));
  Json channel = names(field, title);
  channel["sort"] = std::move(order);
  return channel;
}

/// The same for the panels of a facet, which need no title.
inline Json panels_in_order(const char* field, const Json& values) {
  Json facet = in_order(field, "", values);
  facet["title"] = nullptr;
  return facet;
}

/// The same as dashes of lines, with a legend that shows them.
inline Json as_dashes(Json channel) {
  channel["legend"] = {
      {"symbolType", "stroke"}, {"symbolStrokeColor", "black"}, {"symbolSize", 300}};
  return channel;
}

/// A chart's text from its title, its data (an array of flat objects) and what is drawn of them: a
/// mark with an encoding, layers, a facet with its spec, or a concatenation.
std::string chart_text(const std::string& title, Json values, Json drawn);

}  // namespace tamis::lab::experiments
