#include "lab/sweep/messages.h"

#include <nlohmann/json.hpp>

#include <tamis/info.h>

#include "core/fail.h"
#include "core/hash.h"

namespace tamis::lab::sweep {
namespace {

using nlohmann::json;

}  // namespace

std::string encode(const RankWord& word) {
  return json::array({static_cast<int>(word.kind), word.point, word.point_failed, word.seconds,
                      word.text, word.threads, static_cast<int>(word.code)})
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

RankWord decode(const std::string& bytes) try {
  const json all = json::parse(bytes);
  const int kind = all.at(0);
  const int code = all.at(6);
  if (kind < 0 || kind > static_cast<int>(RankWord::Kind::bye) ||
      code < static_cast<int>(Code::usage) || code > static_cast<int>(Code::internal))
    core::fail(Code::internal, "a rank sent a message of kind {} and code {}, which there is not",
               kind, code);
  return {.kind = static_cast<RankWord::Kind>(kind),
          .point = all.at(1),
          .point_failed = all.at(2),
          .seconds = all.at(3),
          .text = all.at(4),
          .threads = all.at(5),
          .code = static_cast<Code>(code)};
} catch (const json::exception&) {
  core::fail(Code::internal, "a rank sent a message that is not tamis's");
}

GridMark mark_of(const Work& work) {
  std::string all = work.sweep;
  for (const SweepPoint& point : work.points) all += '\n' + point.parameters;
  core::Hash hash;
  hash.add(all);
  return {std::string(version()), std::string(target()), hash.hex()};
}

std::string mark_text(const GridMark& mark) {
  return json::array({mark.version, mark.target, mark.hash}).dump();
}

std::optional<std::string> difference(const GridMark& mine, const std::string& theirs) {
  const json other = json::parse(theirs, nullptr, false);
  if (!other.is_array() || other.size() != 3) return "it is another program";
  if (other[0] != mine.version)
    return fmt::format("it is tamis {}, rank 0 is {}; give all ranks the same program",
                       other[0].dump(), mine.version);
  if (other[1] != mine.target)
    return fmt::format(
        "its kernels are {}, those of rank 0 {}; set TAMIS_TARGET to one that all can run",
        other[1].dump(), mine.target);
  if (other[2] != mine.hash)
    return "it has another grid than rank 0; give all ranks the same options and the same trace";
  return {};
}

}  // namespace tamis::lab::sweep
