// The object of --json: what was asked for, then the distributions of all layers together, then
// those of each layer.
#include <nlohmann/json.hpp>

#include <tamis/info.h>

#include "attend/report.h"
#include "attend/statistics.h"
#include "terminal/json.h"

namespace tamis::cli {
namespace {

using nlohmann::ordered_json;

ordered_json summary(const std::vector<double>& values) {
  const Distribution d = distribution(values);
  return {{"median", d.median}, {"p90", d.p90}, {"max", d.max}};
}

/// Adds the mean to the summary, since the means of parts add up to the mean of the whole and
/// medians do not.
ordered_json share_summary(const std::vector<double>& values) {
  ordered_json json = summary(values);
  json["mean"] = distribution(values).mean;
  return json;
}

ordered_json certified(std::span<const LayerResult> layers, double Certificate::*claim,
                       std::vector<double> LayerResult::*truth = nullptr) {
  ordered_json json = summary(claims(layers, claim));
  if (truth == nullptr) return json;
  const std::vector<double> found = measured(layers, truth);
  if (!found.empty()) json["true"] = summary(found);
  return json;
}

ordered_json ratio_summary(const std::vector<double>& values) {
  if (values.empty()) return {};
  const Distribution d = distribution(values);
  return {{"median", d.median}, {"p90", d.p90}};
}

ordered_json or_null(bool known, const ordered_json& value) {
  return known ? value : ordered_json();
}

// ---- --dense ----

/// The shares of dense attention itself, all 1, and the total that 1 stands for.
ordered_json whole(std::int64_t total) {
  return {{"median", 1.0}, {"p90", 1.0}, {"max", 1.0}, {"dense", total}};
}

ordered_json shape_json(const lab::Trace& trace, const lab::TraceLayer& layer) {
  return {{"layer", layer.layer},
          {"query_heads", layer.shape.query_heads},
          {"kv_heads", layer.shape.kv_heads},
          {"queries", layer.shape.queries},
          {"tokens", trace.tokens()},
          {"dtype", name_of(layer.shape.dtype)}};
}

ordered_json distances(std::span<const LayerResult> layers) {
  return {{"tau", certified(layers, &Certificate::tau)},
          {"error", certified(layers, &Certificate::error, &LayerResult::true_error)},
          {"lse_error", certified(layers, &Certificate::lse_error, &LayerResult::true_lse_error)}};
}

ordered_json dense_layer_json(const lab::Trace& trace, const LayerResult& result, bool checked) {
  const std::span one(&result, 1);
  ordered_json json = shape_json(trace, result.layer);
  json["seconds"] = result.seconds;
  json["violations"] = or_null(checked, result.violations);
  json.update(distances(one));
  json["bytes"] = dense_bytes(one);
  return json;
}

// ---- --budget ----

ordered_json reached_json(const Totals& sum) {
  return {{"met", sum.count(Reached::met)},
          {"stored_bits", sum.count(Reached::stored_bits)},
          {"look_alone", sum.count(Reached::look_alone)},
          {"not_finite", sum.count(Reached::not_finite)}};
}

/// Returns how deep keys and values were read, as means of shares.
ordered_json read_json(const lab::Trace& trace, std::span<const LayerResult> layers) {
  const auto mean = [&](const Count& count) {
    return distribution(key_shares(trace, layers, count)).mean;
  };
  const auto of = [&](std::int64_t Certificate::*field) {
    return mean([field](const LayerResult&, const Certificate& c) { return c.*field; });
  };
  ordered_json json{
      {"raw", {{"keys", of(&Certificate::raw_keys)}, {"values", of(&Certificate::raw_values)}}},
      {"centre", {{"values", of(&Certificate::centre_values)}}}};
  for (int level = 0; level < layers.front().bits / 4; ++level)
    json[std::to_string(4 * (level + 1))] = {
        {"keys", mean([level](const LayerResult&, const Certificate& c) { return c.keys[level]; })},
        {"values",
         mean([level](const LayerResult&, const Certificate& c) { return c.values[level]; })}};
  return json;
}

/// Returns the same fields for all layers together and for one layer.
ordered_json sparse_json(const lab::Trace& trace, std::span<const LayerResult> layers,
                         bool checked) {
  const Totals sum = totals(layers);
  ordered_json json{{"violations", or_null(checked, sum.violations)},
                    {"dense_fallbacks", sum.dense}};
  json.update(distances(layers));
  json["relative_error"] = ordered_json();
  json["ratios"] = ordered_json();
  if (checked) {
    json["relative_error"] = summary(relative_errors(layers));
    json["ratios"] = {
        {"error", ratio_summary(ratios(layers, &Certificate::error, &LayerResult::true_error))}};
  }
  json["bytes"] = share_summary(byte_shares(layers));
  json["bytes"]["dense"] = dense_bytes(layers);
  json["keys"] =
      share_summary(key_shares(trace, layers, [](const LayerResult& result, const Certificate& c) {
        return result.whole_keys(c);
      }));
  json["keys"]["dense"] = dense_keys(trace, layers);
  json["read"] = read_json(trace, layers);
  json["reached"] = reached_json(sum);
  json["cache_share"] = sum.cache_share;
  json["cache_bytes"] = sum.cache_bytes;
  json["append_seconds"] = sum.append_seconds;
  json["seconds"] = sum.seconds;
  return json;
}

ordered_json sparse_layer_json(const lab::Trace& trace, const LayerResult& result, bool checked) {
  ordered_json json = shape_json(trace, result.layer);
  json.update(sparse_json(trace, {&result, 1}, checked));
  return json;
}

}  // namespace

std::string json_text(const lab::Trace& trace, const AttendReport& report) {
  const bool sparse = report.reading.has_value();
  const Totals sum = totals(report.layers);
  ordered_json layers = ordered_json::array();
  for (const LayerResult& result : report.layers)
    layers.push_back(sparse ? sparse_layer_json(trace, result, report.checked)
                            : dense_layer_json(trace, result, report.checked));

  ordered_json json{{"trace", trace.path()}, {"budget", sparse ? report.reading->budget : "dense"}};
  if (sparse) json["bits"] = report.reading->bits;
  json["queries"] = sum.queries;
  json["checked"] = report.checked;
  if (sparse) {
    json.update(sparse_json(trace, report.layers, report.checked));
  } else {
    json["violations"] = or_null(report.checked, sum.violations);
    json["dense_fallbacks"] = 0;
    json.update(distances(report.layers));
    json["bytes"] = whole(dense_bytes(report.layers));
    json["keys"] = whole(dense_keys(trace, report.layers));
    json["seconds"] = sum.seconds;
  }
  json["layers"] = layers;
  json["target"] = target();
  json["backend"] = report.backend;
  json["threads"] = report.threads;
  json["version"] = version();
  return json_text(json);
}

}  // namespace tamis::cli
