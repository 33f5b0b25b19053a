// Appends tokens to many sequences at once: either all of them become longer or none does.
// Everything that can fail is done first, where no view shows it. Pages are worked on in windows,
// so that a long append never holds many pages both raw and coded.
#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <type_traits>

#include "cache/encode.h"
#include "cache/extension.h"
#include "cache/inside.h"
#include "core/parallel.h"

namespace tamis {
namespace {

using cache::Extension;
using cache::Incoming;
using cache::most_tokens;

/// The number of pages that are worked on together.
constexpr std::size_t window_pages = 64;
/// If fewer bytes than this are copied, waking another thread takes longer than it saves.
constexpr std::int64_t bytes_worth_a_thread = std::int64_t{1} << 18;

void check_dtype(DType given, DType kept, const char* what) {
  if (given != DType::f32 && given != DType::f16 && given != DType::bf16)
    core::fail(Code::usage, "the {} are {}; they must be f32, f16 or bf16", what, name_of(given));
  if (given == kept || kept == DType::f32) return;
  core::fail(Code::usage,
             "the {} are {} and the cache keeps {}, which would round them; append {} or keep f32",
             what, name_of(given), name_of(kept), name_of(kept));
}

void check_rows(const Rows& rows, DType kept, const char* what) {
  check_dtype(rows.dtype, kept, what);
  if (rows.data == nullptr) core::fail(Code::usage, "the {} are a null pointer", what);
}

/// One call of append. The destructor rolls back every sequence that was not committed.
class Append {
 public:
  Append(Cache::Impl& impl, const Incoming& rows, Workspace& workspace)
      : impl_(impl), rows_(rows), workspace_(workspace.impl()), kernels_(kernels::kernels()) {}
  ~Append() {
    for (std::size_t g = 0; g < count_; ++g) extensions_[g].roll_back();
  }
  Append(const Append&) = delete;
  Append& operator=(const Append&) = delete;

  void plan(std::span<const Sequence> sequences, std::span<const std::int64_t> tokens);
  void run();

 private:
  using Step = Extension::Step;

  void work_on_window();
  void fill_window();
  void encode_window();
  [[noreturn]] void fail_not_finite() const;

  Cache::Impl& impl_;
  const Incoming& rows_;
  Workspace::Impl& workspace_;
  const kernels::Kernels& kernels_;
  std::span<const Sequence> sequences_;
  Extension* extensions_ = nullptr;
  std::size_t count_ = 0;
  std::array<Step, window_pages> window_;
  std::size_t steps_ = 0;  ///< how many steps the window holds
};

static_assert(std::is_trivially_destructible_v<Extension>, "extensions lie in scratch memory");

void Append::plan(std::span<const Sequence> sequences, std::span<const std::int64_t> tokens) {
  sequences_ = sequences;
  const std::uint64_t call = ++impl_.calls;
  const auto bytes = static_cast<std::int64_t>(sequences.size() * sizeof(Extension));
  extensions_ = reinterpret_cast<Extension*>(
      workspace_.extensions.get(bytes / static_cast<std::int64_t>(sizeof(float)) + 1));
  const Rows& keys = *rows_.keys.rows;
  const Rows& values = *rows_.values.rows;
  std::int64_t row = 0;
  const auto first = [&row](const Rows& rows) { return rows.sequence_stride == 0 ? row : 0; };
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    cache::Contents& contents = impl_.find(sequences[s]);
    if (!contents.name_in(call))
      core::fail(Code::usage, "sequence {} is named twice in one append; join its tokens",
                 sequences[s]);
    if (tokens[s] < 0 || tokens[s] > cache::most_tokens - contents.tokens())
      core::fail(Code::usage,
                 "{} tokens are to be appended to sequence {}, which has {}; it must be 0 … {}",
                 tokens[s], sequences[s], contents.tokens(),
                 cache::most_tokens - contents.tokens());
    const auto offset = [s](const Rows& rows) {
      return static_cast<std::int64_t>(s) * rows.sequence_stride;
    };
    new (extensions_ + count_++) Extension(contents, impl_.options, tokens[s],
                                           {offset(keys) + first(keys) * keys.token_stride,
                                            offset(values) + first(values) * values.token_stride});
    row += tokens[s];
  }
}

void Append::run() {
  for (std::size_t g = 0; g < count_; ++g) extensions_[g].make_room();
  for (std::size_t g = 0; g < count_; ++g)
    for (std::int64_t i = 0; i < extensions_[g].steps(); ++i) {
      window_[steps_++] = extensions_[g].step(i);
      if (steps_ == window_pages) work_on_window();
    }
  work_on_window();
  while (count_ > 0) extensions_[--count_].commit();
}

void Append::work_on_window() {
  fill_window();
  encode_window();
  steps_ = 0;
}

void Append::fill_window() {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < steps_; ++i) {
    Step& step = window_[i];
    step.extension->begin(step, rows_);
    bytes += step.extension->bytes(step);
  }
  const std::int64_t heads = impl_.heads.kv_heads;
  std::atomic<bool> finite{true};
  const core::Crew crew = bytes < bytes_worth_a_thread ? core::Crew{1} : workspace_.crew();
  core::parallel_for(static_cast<std::int64_t>(steps_) * heads, crew, [&](std::int64_t item, int) {
    const Step& step = window_[static_cast<std::size_t>(item / heads)];
    if (!step.extension->fill(step, kernels_, rows_, item % heads)) finite = false;
  });
  if (!finite) fail_not_finite();
}

void Append::encode_window() {
  std::array<std::size_t, window_pages> coded{};
  std::size_t blocks = 0;
  for (std::size_t i = 0; i < steps_; ++i)
    if (window_[i].coded) coded[blocks++] = i;
  if (blocks == 0) return;
  const std::int64_t floats = cache::encode_scratch(impl_.store.layout());
  for (attention::Scratch& scratch : workspace_.worker)
    (void)scratch.get(floats);  // allocated here because it may throw
  std::atomic<bool> finite{true};
  core::parallel_for(static_cast<std::int64_t>(blocks), workspace_.crew(),
                     [&](std::int64_t item, int) {
                       Step& step = window_[coded[static_cast<std::size_t>(item)]];
                       if (!step.extension->mark_raw(step, rows_)) finite = false;
                     });
  if (!finite) fail_not_finite();
  for (std::size_t b = 0; b < blocks; ++b) {
    Step& step = window_[coded[b]];
    step.extension->make_block(step);
  }
  const std::int64_t heads = impl_.heads.kv_heads;
  core::parallel_for(static_cast<std::int64_t>(blocks) * heads, workspace_.crew(),
                     [&](std::int64_t item, int worker) {
                       const Step& step = window_[coded[static_cast<std::size_t>(item / heads)]];
                       float* const scratch =
                           workspace_.worker[static_cast<std::size_t>(worker)].get(floats);
                       step.extension->encode(step, kernels_, rows_, item % heads, scratch);
                     });
  for (std::size_t b = 0; b < blocks; ++b) window_[coded[b]].extension->finish(window_[coded[b]]);
}

/// Reports the first such number of the call, so that the message does not depend on which thread
/// found one first.
void Append::fail_not_finite() const {
  for (std::size_t g = 0; g < count_; ++g) extensions_[g].check_finite(rows_, sequences_[g]);
  core::fail(Code::internal, "the rows of an append changed while they were read");
}

}  // namespace

void Cache::append(std::span<const Sequence> sequences, std::span<const std::int64_t> tokens,
                   const Rows& keys, const Rows& values, Workspace& workspace) {
  Impl& impl = inside();
  if (sequences.size() != tokens.size())
    core::fail(Code::usage,
               "an append names {} sequences and {} numbers of tokens; give one for each",
               sequences.size(), tokens.size());
  if (std::all_of(tokens.begin(), tokens.end(), [](std::int64_t n) { return n == 0; })) {
    for (const Sequence sequence : sequences) (void)impl.find(sequence);
    return;
  }
  check_rows(keys, impl.options.dtype, "keys");
  check_rows(values, impl.options.dtype, "values");
  const attention::InUse in_use(workspace);
  const DType dtype = impl.options.dtype;
  const Incoming rows{{&keys, dtype, impl.heads.key_dim}, {&values, dtype, impl.heads.value_dim}};
  cache::with_memory([&] {
    Append append(impl, rows, workspace);
    append.plan(sequences, tokens);
    append.run();
  });
}

}  // namespace tamis
