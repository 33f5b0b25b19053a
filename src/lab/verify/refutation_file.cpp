// Reads and writes refutation files (docs/refutation.md). The form of a file is checked here, the
// truth of its claim by `check_refutation`.
#include "lab/verify/refutation_file.h"

#include "core/atomic_file.h"
#include "core/fail.h"
#include "lab/io/json_fields.h"

namespace tamis::lab {
namespace {

constexpr io::JsonFormat refutation_format{.a_file = "a refutation",
                                           .format = "tamis-refutation",
                                           .version = 1,
                                           .longest = 1'000'000'000,
                                           .written_by = "tamis decide --refutation"};

/// Clauses as solvers write them: one per line, its literals and then 0.
std::string clauses_text(const std::vector<std::vector<std::int32_t>>& clauses) {
  std::string text;
  for (const auto& clause : clauses) {
    for (const std::int32_t literal : clause) text += fmt::format("{} ", literal);
    text += "0\n";
  }
  return text;
}

std::vector<std::vector<std::int32_t>> clauses_in(const std::string& text) {
  std::vector<std::vector<std::int32_t>> clauses;
  core::Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    std::vector<std::int32_t>& clause = clauses.emplace_back();
    for (;;) {
      const auto literal = core::parse_int(core::next_field(line));
      constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
      if (!literal || *literal < -most || *literal > most)
        core::fail(Code::input, "line {} is not a clause: whole numbers, the last of them 0",
                   lines.number());
      if (*literal == 0) break;
      clause.push_back(static_cast<std::int32_t>(*literal));
    }
    if (!core::next_field(line).empty())
      core::fail(Code::input, "line {} goes on after its 0", lines.number());
  }
  return clauses;
}

struct Clauses {
  std::vector<std::vector<std::int32_t>> list;
};
std::string json_word(const Clauses& clauses) { return clauses_text(clauses.list); }
void from_json_word(const std::string& text, Clauses& clauses) { clauses.list = clauses_in(text); }

/// Empty grounds of the kind with that name. Throws `input` if there is none.
template <std::size_t Index = 0>
Grounds grounds_named(const std::string& name) {
  if constexpr (Index < std::variant_size_v<Grounds>) {
    Grounds grounds(std::in_place_index<Index>);
    return name == name_of(grounds) ? grounds : grounds_named<Index + 1>(name);
  } else {
    core::fail(Code::input, "there are no such grounds");
  }
}

struct Kind {
  Grounds grounds;
};
std::string json_word(const Kind& kind) { return name_of(kind.grounds); }
void from_json_word(const std::string& name, Kind& kind) { kind.grounds = grounds_named(name); }

}  // namespace

// These functions are outside the unnamed namespace, because they are found by the namespace of the
// types that they describe.

/// A list of columns, or of rows, where −1 is the row of ones.
template <class A>
void indices(A& a, const char* name, std::vector<std::int64_t>& list) {
  std::vector<io::SignedWhole> wholes;
  wholes.reserve(list.size());
  for (const std::int64_t index : list) wholes.push_back({index});
  a(name, wholes);
  list.clear();
  for (const io::SignedWhole whole : wholes) list.push_back(whole.value);
}

template <class A>
void fields(A& a, Relation& relation) {
  a("a", relation.a);
  a("b", relation.b);
  a("same", relation.same);
  a("first", relation.first);
  a("second", relation.second);
}

template <class A>
void fields(A& a, OddCircle& circle) {
  a("relations", circle.relations);
}

template <class A>
void fields(A& a, SignOfC& sign) {
  a("t", sign.t);
  a("apart", sign.apart);
  a("turn", sign.turn);
}

template <class A>
void fields(A& a, SignConflict& conflict) {
  a("plus", conflict.plus);
  a("minus", conflict.minus);
}

template <class A>
void fields(A& a, FullSet& set) {
  a("of_columns", set.of_columns);
  indices(a, "elements", set.elements);
  indices(a, "cuts", set.cuts);
}

template <class A>
void fields(A& a, Spectral& spectral) {
  indices(a, "rows", spectral.rows);
  a("columns", spectral.columns);
  a("row_weights", spectral.row_weights);
  a("column_weights", spectral.column_weights);
}

template <class A>
void fields(A& a, OrderProof& proof) {
  a("of_columns", proof.of_columns);
  indices(a, "elements", proof.elements);
  indices(a, "cuts", proof.cuts);
  Clauses clauses{std::move(proof.clauses)};
  a("clauses", clauses);
  proof.clauses = std::move(clauses.list);
}

template <class A>
void fields(A& a, SolverSaid::Run& run) {
  a("program", run.program);
  a("answer", run.answer);
  a("seconds", run.seconds);
}

template <class A>
void fields(A& a, SolverSaid& said) {
  a("runs", said.runs);
  a("problem", said.problem);
}

std::string refutation_text(const Refutation& refutation) {
  Refutation copy = refutation;  // fields() reads and writes through the same references
  io::JsonWriter writer(refutation_format);
  writer("dim", copy.dim);
  writer("hidden", copy.hidden);
  Kind kind{copy.grounds};
  writer("grounds", kind);
  std::visit([&](auto& grounds) { fields(writer, grounds); }, copy.grounds);
  return writer.text();
}

Refutation verification::parse_refutation(const core::ByteSource& source) {
  const io::JsonReader::Json json = io::parse_json_file(source, refutation_format);
  const io::JsonReader reader(source.name(), refutation_format, json);
  Refutation refutation;
  reader("dim", refutation.dim);
  reader("hidden", refutation.hidden);
  Kind kind;
  reader("grounds", kind);
  refutation.grounds = std::move(kind.grounds);
  std::visit([&](auto& grounds) { fields(reader, grounds); }, refutation.grounds);
  return refutation;
}

Refutation read_refutation(const std::string& path) {
  return verification::parse_refutation(*core::open_file(path));
}

void write_refutation(const std::string& path, const Refutation& refutation) {
  write_text(path, refutation_text(refutation));
}

}  // namespace tamis::lab
