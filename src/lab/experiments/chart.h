// Parts of Vega-Lite specifications that the charts of several sweeps use.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "lab/experiments/experiment.h"

namespace tamis::lab::experiments {

/// A quantitative channel with a linear, log or symlog scale that need not include zero.
inline Json channel(const char* field, const char* title, const char* scale = "linear") {
  return {
      {"field", field},
      {"type", "quantitative"},
      {"title", title},
      {"scale", {{"type", scale}, {"zero", false}, {"nice", std::string_view(scale) == "linear"}}}};
}

/// A nominal channel.
inline Json names(const char* field, const char* title) {
  return {{"field", field}, {"type", "nominal"}, {"title", title}};
}

/// A nominal channel for `field` whose names are ordered as they first appear in the chart's
/// values. By default Vega-Lite would sort them alphabetically.
inline Json in_order(const char* field, const char* title, const Json& values) {
  Json order = Json::array();
  for (const Json& value : values)
    if (std::ranges::find(order, value.at(field)) == order.end()) order.push_back(value.at(field));
  Json channel = names(field, title);
  channel["sort"] = std::move(order);
  return channel;
}

/// The same for the panels of a facet, without a title.
inline Json panels_in_order(const char* field, const Json& values) {
  Json facet = in_order(field, "", values);
  facet["title"] = nullptr;
  return facet;
}

/// Turns a channel into one for line dashes, with a legend that shows them.
inline Json as_dashes(Json channel) {
  channel["legend"] = {
      {"symbolType", "stroke"}, {"symbolStrokeColor", "black"}, {"symbolSize", 300}};
  return channel;
}

/// Returns a chart as text from its title, its data (an array of flat objects) and the rest of its
/// specification: a mark with an encoding, layers, a facet with its spec, or a concatenation.
std::string chart_text(const std::string& title, Json values, const Json& drawn);

}  // namespace tamis::lab::experiments
