// Panels of a chart that share one list of data; each selects its own data by the field "panel".
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "lab/experiments/chart.h"

namespace tamis::lab::experiments {

/// Makes a panel. The layers are passed as an initializer_list because a braced list of Json would
/// be an array for some compilers and, if it has one member, that member for others.
inline Json panel(const std::string& name, const std::string& title,
                  std::initializer_list<Json> layers) {
  return {{"title", title},
          {"width", 300},
          {"height", 240},
          {"transform", {{{"filter", {{"field", "panel"}, {"equal", name}}}}}},
          {"layer", std::vector<Json>(layers)}};
}

/// The horizontal axis: the number of keys that a row sees.
inline Json lengths() {
  Json x = channel("n", "keys a row sees, n", "log");
  x["scale"].update({{"nice", false}, {"padding", 8}});
  x["axis"] = {{"tickCount", 4}, {"format", ","}};
  return x;
}

/// R as an ordinal colour channel.
inline Json color_by_R() {
  return {{"field", "R"},
          {"type", "ordinal"},
          {"title", "R at n = 1024"},
          {"scale", {{"scheme", "viridis"}}}};
}

inline Json layer(Json mark, Json x, Json y, Json color) {
  return {{"mark", std::move(mark)},
          {"encoding", {{"x", std::move(x)}, {"y", std::move(y)}, {"color", std::move(color)}}}};
}

/// A dashed line, for predictions.
inline Json dashed(const Json& x, const Json& y, const Json& color) {
  return layer({{"type", "line"}, {"strokeDash", {4, 3}}}, x, y, color);
}
/// Dots, for measurements.
inline Json dots(const Json& x, const Json& y, const Json& color) {
  return layer({{"type", "point"}, {"filled", true}, {"size", 50}}, x, y, color);
}
/// Vertical intervals from the field "low" to the field "high", on the scale of y.
inline Json intervals(const Json& x, Json y, const Json& color) {
  y["field"] = "low";
  Json made = layer("rule", x, std::move(y), color);
  made["encoding"]["y2"] = {{"field", "high"}};
  return made;
}

}  // namespace tamis::lab::experiments
