// The file of --vega: one page of three Vega-Lite charts with their data inside.
#include <cmath>
#include <nlohmann/json.hpp>

#include "profile/report.h"
#include "terminal/json.h"

namespace tamis::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string head_name(const lab::HeadProfile& head) {
  return "layer " + std::to_string(head.layer) + " head " + std::to_string(head.head);
}

Json growth_data(const lab::Profile& profile) {
  Json data = Json::array();
  for (const lab::HeadProfile& head : profile.heads)
    for (const lab::KEpsProfile& of_eps : head.by_eps)
      for (const lab::GrowthBin& bin : of_eps.growth)
        data.push_back({{"layer", head.layer},
                        {"head", head.head},
                        {"name", head_name(head)},
                        {"eps", of_eps.eps},
                        {"law", lab::name_of(of_eps.law.law)},
                        {"n", bin.n},
                        {"k", bin.k_eps.median},
                        {"p10", bin.k_eps.p10},
                        {"p90", bin.k_eps.p90},
                        {"fitted", bin.law},
                        {"null", bin.null}});
  return data;
}

Json law_data(const lab::Profile& profile) {
  Json data = Json::array();
  for (const lab::HeadProfile& head : profile.heads)
    for (const lab::KEpsProfile& of_eps : head.by_eps)
      data.push_back({{"layer", head.layer},
                      {"head", head.head},
                      {"eps", of_eps.eps},
                      {"law", lab::name_of(of_eps.law.law)},
                      {"C", of_eps.law.C},
                      {"C_low", of_eps.law.C_low},
                      {"C_high", of_eps.law.C_high},
                      {"k", of_eps.k_eps.median}});
  return data;
}

Json collapse_data(const lab::Profile& profile) {
  Json data = Json::array();
  for (const lab::LayerProfile& layer : profile.layers)
    for (const lab::CollapseBin& bin : layer.collapse) {
      const auto add = [&](const char* figure, const lab::Quantiles& q) {
        data.push_back({{"layer", layer.layer},
                        {"n", bin.n},
                        {"figure", figure},
                        {"p10", q.p10},
                        {"median", q.median},
                        {"p90", q.p90}});
      };
      add("top-1 mass", bin.top1);
      add("effective support", bin.effective_support);
      add("sink mass", bin.sink);
    }
  return data;
}

Json axis(const char* field, const char* title, const char* scale = "log") {
  return {
      {"field", field}, {"type", "quantitative"}, {"title", title}, {"scale", {{"type", scale}}}};
}

Json named(const char* data) { return {{"name", data}}; }

/// Returns one small chart per head: medians with their spread, the law fitted to them, and the
/// null.
Json growth_chart(const lab::Profile& profile, double eps) {
  // By default a facet sorts names alphabetically, which puts layer 12 before layer 3.
  Json order = Json::array();
  for (const lab::HeadProfile& head : profile.heads) order.push_back(head_name(head));
  const Json x = axis("n", "keys seen, n");
  const auto line = [&](const char* field, const char* colour, bool dashed) {
    Json mark{{"type", "line"}, {"color", colour}};
    if (dashed) mark["strokeDash"] = {4, 3};
    return Json{{"mark", mark}, {"encoding", {{"x", x}, {"y", axis(field, "k")}}}};
  };
  Json band{{"mark", {{"type", "rule"}, {"color", "#9ab"}}},
            {"encoding", {{"x", x}, {"y", axis("p10", "k")}, {"y2", {{"field", "p90"}}}}}};
  Json points{{"mark", {{"type", "point"}, {"filled", true}, {"color", "#246"}, {"tooltip", true}}},
              {"encoding",
               {{"x", x},
                {"y", axis("k", "k")},
                {"tooltip",
                 {{{"field", "name"}}, {{"field", "law"}}, {{"field", "n"}}, {{"field", "k"}}}}}}};
  return {{"title",
           "Keys that hold the mass, by length: medians with p10 to p90, law (red), Gaussian null "
           "(dashed)"},
          {"data", named("growth")},
          {"transform", {{{"filter", {{"field", "eps"}, {"equal", eps}}}}}},
          {"columns", 6},
          {"facet", {{"field", "name"}, {"type", "nominal"}, {"title", nullptr}, {"sort", order}}},
          {"spec",
           {{"width", 130},
            {"height", 100},
            {"layer", {band, points, line("fitted", "#c33", false), line("null", "#888", true)}}}}};
}

Json law_chart(double eps) {
  const Json place{{"x", {{"field", "head"}, {"type", "ordinal"}}},
                   {"y", {{"field", "layer"}, {"type", "ordinal"}, {"sort", "descending"}}}};
  Json colours = place;
  colours["color"] = {{"field", "C"},
                      {"type", "quantitative"},
                      {"scale", {{"scheme", "viridis"}, {"domain", {0, 1}}, {"clamp", true}}}};
  colours["tooltip"] = {{{"field", "law"}},
                        {{"field", "C"}},
                        {{"field", "C_low"}},
                        {{"field", "C_high"}},
                        {{"field", "k"}}};
  Json words = place;
  words["text"] = {{"field", "law"}};
  return {
      {"title", "Law and exponent C of each head"},
      {"data", named("laws")},
      {"transform", {{{"filter", {{"field", "eps"}, {"equal", eps}}}}}},
      {"width", {{"step", 52}}},
      {"height", {{"step", 22}}},
      {"layer",
       {{{"mark", "rect"}, {"encoding", colours}},
        {{"mark", {{"type", "text"}, {"fontSize", 9}, {"color", "white"}}}, {"encoding", words}}}}};
}

Json collapse_chart() {
  const Json layer{{"field", "layer"}, {"type", "ordinal"}};
  return {{"title", "Collapse: medians over the rows of a layer"},
          {"data", named("collapse")},
          {"facet", {{"column", {{"field", "figure"}, {"type", "nominal"}, {"title", nullptr}}}}},
          {"resolve", {{"scale", {{"y", "independent"}}}}},
          {"spec",
           {{"width", 220},
            {"height", 160},
            {"mark", {{"type", "line"}, {"point", true}, {"tooltip", true}}},
            {"encoding",
             {{"x", axis("n", "keys seen, n")},
              {"y", axis("median", "", "linear")},
              {"color", layer}}}}}};
}

}  // namespace

std::string vega_text(const lab::Profile& profile) {
  const double eps = profile.options.rows.eps.front();
  return json_text({{"$schema", "https://vega.github.io/schema/vega-lite/v5.json"},
                    {"title", profile.trace + ", eps " + eps_text(eps)},
                    {"datasets",
                     {{"growth", growth_data(profile)},
                      {"laws", law_data(profile)},
                      {"collapse", collapse_data(profile)}}},
                    {"vconcat", {law_chart(eps), collapse_chart(), growth_chart(profile, eps)}}});
}

}  // namespace tamis::cli
