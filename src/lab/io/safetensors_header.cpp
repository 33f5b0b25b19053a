// Checks the lengths and offsets in the header of a safetensors file against its size.
#include "lab/io/safetensors_header.h"

#include <algorithm>
#include <unordered_set>

#include "core/fail.h"
#include "core/text.h"
#include "lab/io/safetensors_table.h"
#include "lab/io/tensor_values.h"

namespace tamis::lab::io {
namespace {

/// The JSON text. It is checked to lie inside the file, to be UTF-8 and to begin with '{'.
std::string read_json(const core::ByteSource& source) {
  const std::string& file = source.name();
  if (source.size() < 8)
    core::fail(Code::input,
               "{}: the file has {} bytes; a safetensors file begins with 8 bytes of header length",
               file, source.size());
  std::uint64_t length = 0;
  source.read_at(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > static_cast<std::uint64_t>(source.size() - 8))
    core::fail(Code::input,
               "{}: the header should take {} bytes, but only {} follow its length; the file is "
               "truncated or not safetensors",
               file, length, source.size() - 8);
  if (length > static_cast<std::uint64_t>(longest_safetensors_header))
    core::fail(Code::input, "{}: the header takes {} bytes; at most {} are allowed", file, length,
               longest_safetensors_header);
  std::string json(length, '\0');
  source.read_at(8, std::as_writable_bytes(std::span(json)));
  if (const auto at = core::first_not_utf8(json))
    core::fail(Code::input, "{}: the header is not UTF-8 at its byte {}", file, *at);
  // The JSON parser would skip a byte order mark, and take a zero byte for the end of the text.
  if (!json.starts_with('{')) core::fail(Code::input, "{}: the header must begin with '{{'", file);
  if (const auto at = json.find('\0'); at != std::string::npos)
    core::fail(Code::input, "{}: the header is not JSON: its byte {} is zero", file, at);
  return json;
}

/// Checks that an entry has as many bytes as its type and shape need, all of them in the data.
void check_range(const std::string& file, const SafetensorsEntry& entry, std::int64_t data_bytes) {
  const TensorInfo& info = entry.info;
  const auto bytes = bytes_of(info.dtype, info.shape);
  if (!bytes)
    core::fail(Code::input,
               "{}: tensor {} of shape {} is larger than any file; its bytes must fit 63 bits",
               file, core::quote(info.name), core::shape_text(info.shape));
  if (entry.begin > entry.end)
    core::fail(Code::input,
               "{}: data_offsets of tensor {} are [{}, {}]; the first must not be above the second",
               file, core::quote(info.name), entry.begin, entry.end);
  if (entry.end > data_bytes)
    core::fail(Code::input,
               "{}: tensor {} should end at byte {} of the data, but the file has only {}; it is "
               "truncated or its header is wrong",
               file, core::quote(info.name), entry.end, data_bytes);
  if (*bytes != entry.end - entry.begin)
    core::fail(Code::input, "{}: tensor {} takes {} bytes in the file, but {} {} needs {}", file,
               core::quote(info.name), entry.end - entry.begin, tamis::name_of(info.dtype),
               core::shape_text(info.shape), *bytes);
}

/// Checks that every byte of the data belongs to exactly one entry. Entries come sorted by offset.
void check_cover(const std::string& file, const std::vector<SafetensorsEntry>& entries,
                 std::int64_t data_bytes) {
  std::int64_t covered = 0;
  const SafetensorsEntry* last = nullptr;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin < covered)
      core::fail(Code::input, "{}: tensors {} and {} overlap; each must have bytes of its own",
                 file, core::quote(last->info.name), core::quote(entry.info.name));
    if (entry.begin > covered)
      core::fail(Code::input,
                 "{}: bytes {} to {} of the data, before tensor {}, belong to no tensor", file,
                 covered, entry.begin, core::quote(entry.info.name));
    covered = entry.end;
    last = &entry;
  }
  if (covered != data_bytes)
    core::fail(
        Code::input,
        "{}: the last {} bytes belong to no tensor; the data should have {} bytes and has {}", file,
        data_bytes - covered, covered, data_bytes);
}

}  // namespace

SafetensorsHeader read_safetensors_header(const core::ByteSource& source) {
  const std::string& file = source.name();
  const std::string json = read_json(source);
  SafetensorsTable table = parse_safetensors_table(file, json);

  const auto data_start = 8 + static_cast<std::int64_t>(json.size());
  const std::int64_t data_bytes = source.size() - data_start;
  {
    std::unordered_set<std::string_view> names;
    for (const SafetensorsEntry& entry : table.entries) {
      if (!names.insert(entry.info.name).second)
        core::fail(Code::input, "{}: two tensors are called {}; names must differ", file,
                   core::quote(entry.info.name));
      check_range(file, entry, data_bytes);
    }
  }
  std::ranges::stable_sort(table.entries, {}, [](const SafetensorsEntry& entry) {
    return std::pair(entry.begin, entry.end);
  });
  check_cover(file, table.entries, data_bytes);

  SafetensorsHeader header{.metadata = std::move(table.metadata), .tensors = {}, .start = {}};
  for (SafetensorsEntry& entry : table.entries) {
    header.start.push_back(data_start + entry.begin);
    header.tensors.push_back(std::move(entry.info));
  }
  return header;
}

}  // namespace tamis::lab::io
