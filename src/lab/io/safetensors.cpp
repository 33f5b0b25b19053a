// Opens, reads and writes safetensors files.
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include <tamis/lab/tensor.h>
#include "core/fail.h"
#include "core/inside_of.h"
#include "core/text.h"
#include "lab/io/parsers.h"
#include "lab/io/safetensors_header.h"
#include "lab/io/safetensors_writer.h"

namespace tamis::lab {

struct SafetensorsFile::Impl {
  explicit Impl(std::unique_ptr<core::ByteSource> source_)
      : source(std::move(source_)), header(io::read_safetensors_header(*source)) {
    for (std::size_t i = 0; i < header.tensors.size(); ++i)
      by_name.emplace(header.tensors[i].name, i);
  }

  std::unique_ptr<core::ByteSource> source;
  io::SafetensorsHeader header;
  std::unordered_map<std::string_view, std::size_t> by_name;
};

struct SafetensorsAccess {
  static SafetensorsFile open(std::unique_ptr<core::ByteSource> source) {
    return SafetensorsFile(std::make_unique<SafetensorsFile::Impl>(std::move(source)));
  }
};

SafetensorsFile io::open_safetensors(std::unique_ptr<core::ByteSource> source) {
  return SafetensorsAccess::open(std::move(source));
}

SafetensorsFile::SafetensorsFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SafetensorsFile::SafetensorsFile(const std::string& path)
    : impl_(std::make_unique<Impl>(core::open_file(path))) {}
SafetensorsFile::~SafetensorsFile() = default;
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;

const SafetensorsFile::Impl& SafetensorsFile::inside() const {
  return core::inside_of(impl_, "a SafetensorsFile");
}
const std::string& SafetensorsFile::path() const { return inside().source->name(); }
const Metadata& SafetensorsFile::metadata() const { return inside().header.metadata; }
std::span<const TensorInfo> SafetensorsFile::tensors() const { return inside().header.tensors; }

const TensorInfo* SafetensorsFile::find(std::string_view name) const {
  const auto found = inside().by_name.find(name);
  return found == inside().by_name.end() ? nullptr : &inside().header.tensors[found->second];
}

Tensor SafetensorsFile::read(std::string_view name) const {
  const auto found = inside().by_name.find(name);
  if (found == inside().by_name.end())
    core::fail(Code::input, "{}: there is no tensor {}", path(), core::quote(name));
  Tensor tensor(inside().header.tensors[found->second]);
  inside().source->read_at(inside().header.start[found->second], tensor.bytes());
  return tensor;
}

namespace {

std::string json_string(const std::string& path, std::string_view text) {
  if (core::first_not_utf8(text))
    core::fail(Code::usage, "{}: the name or metadata {} to be written is not UTF-8", path,
               core::quote(text));
  return nlohmann::json(text).dump();
}

std::string json_name(const std::string& path, std::string_view name) {
  if (name.find('\0') != std::string_view::npos)
    core::fail(Code::usage, "{}: the name {} to be written holds a zero byte; names must not", path,
               core::quote(name));
  return json_string(path, name);
}

void check_tensors(const std::string& path, std::span<const TensorInfo> tensors) {
  std::unordered_set<std::string_view> names;
  for (const TensorInfo& tensor : tensors) {
    const std::string& name = tensor.name;
    if (name == "__metadata__")
      core::fail(Code::usage, "{}: a tensor cannot be called '__metadata__'; give it another name",
                 path);
    if (!names.insert(name).second)
      core::fail(Code::usage, "{}: two tensors to be written are called {}; names must differ",
                 path, core::quote(name));
    if (tensor.shape.size() > most_dimensions)
      core::fail(Code::usage,
                 "{}: tensor {} to be written has {} dimensions; it may have at most {}", path,
                 core::quote(name), tensor.shape.size(), most_dimensions);
  }
}

/// The JSON of the header, with tensors in the order given. Spaces at the end make the data start
/// at a multiple of 8.
std::string header_json(const std::string& path, std::span<const TensorInfo> tensors,
                        const Metadata& metadata) {
  std::string json = "{";
  const auto comma = [&json] {
    if (json.back() != '{') json += ',';
  };
  if (!metadata.empty()) {
    json += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      comma();
      json += json_name(path, key) + ':' + json_string(path, value);
    }
    json += '}';
  }
  std::int64_t begin = 0;
  for (const TensorInfo& tensor : tensors) {
    const std::int64_t end = begin + tensor.bytes();
    comma();
    json += fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                        json_name(path, tensor.name),
                        io::safetensors_dtypes[static_cast<std::size_t>(tensor.dtype)],
                        fmt::join(tensor.shape, ","), begin, end);
    begin = end;
  }
  json += '}';
  json.append((8 - json.size() % 8) % 8, ' ');
  if (static_cast<std::int64_t>(json.size()) > io::longest_safetensors_header)
    core::fail(Code::usage,
               "{}: names and metadata take {} bytes; a safetensors header has at most {}", path,
               json.size(), io::longest_safetensors_header);
  return json;
}

/// The whole header: the length of its JSON, then the JSON.
std::string header_text(const std::string& path, std::span<const TensorInfo> tensors,
                        const Metadata& metadata) {
  check_tensors(path, tensors);
  const std::string json = header_json(path, tensors, metadata);
  const std::uint64_t length = json.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + json;
}

}  // namespace

io::SafetensorsWriter::SafetensorsWriter(const std::string& path,
                                         std::span<const TensorInfo> tensors,
                                         const Metadata& metadata)
    : header_(header_text(path, tensors, metadata)), file_(path) {
  file_.write(header_);
}

void write_safetensors(const std::string& path, std::span<const TensorRef> tensors,
                       const Metadata& metadata) {
  std::vector<TensorInfo> infos;
  for (const TensorRef& tensor : tensors) {
    if (tensor.data == nullptr && tensor.info.bytes() > 0)
      core::fail(Code::usage, "{}: tensor {} to be written has no data", path,
                 core::quote(tensor.info.name));
    infos.push_back(tensor.info);
  }
  io::SafetensorsWriter file(path, infos, metadata);
  for (const TensorRef& tensor : tensors) {
    file.write({static_cast<const std::byte*>(tensor.data),
                static_cast<std::size_t>(tensor.info.bytes())});
  }
  file.commit();
}

}  // namespace tamis::lab
