// Compares the library's own threads with OpenMP's and oneTBB's, each behind tamis::Executor. They
// run in turn in one process, on a machine with nothing else to do and beside two processes that
// never sleep. Prints JSON.
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#ifdef TAMIS_BENCH_OPENMP
#include <omp.h>
#endif
#ifdef TAMIS_BENCH_TBB
#include <tbb/task_group.h>
#endif

#include <tamis/attend.h>
#include <tamis/attention.h>
#include <tamis/cache.h>
#include <tamis/lab/generate.h>
#include <tamis/lab/realise.h>

#include "core/parallel.h"
#include "core/thread_pool.h"
#include "lab/numbers/random.h"
#include "timing.h"

namespace {

using namespace tamis;       // NOLINT(google-build-using-namespace)
using namespace tamis::lab;  // NOLINT(google-build-using-namespace)
using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int threads = 2;

#ifdef TAMIS_BENCH_OPENMP
struct OpenMp : Executor {
  int concurrency() const override { return threads; }
  void run(int workers, void* context, void (*body)(void*, int)) override {
#pragma omp parallel num_threads(workers)
    body(context, omp_get_thread_num());
  }
};
#endif

#ifdef TAMIS_BENCH_TBB
struct OneTbb : Executor {
  int concurrency() const override { return threads; }
  void run(int workers, void* context, void (*body)(void*, int)) override {
    tbb::task_group group;
    for (int worker = 1; worker < workers; ++worker) group.run([=] { body(context, worker); });
    body(context, 0);
    group.wait();
  }
};
#endif

/// An executor to compare; null stands for the calling thread alone.
struct Contender {
  std::string name;
  Executor* executor;
  [[nodiscard]] int workers() const { return executor == nullptr ? 1 : threads; }
};

void spin(microseconds time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
  }
}

/// Keeps processes that never sleep running as long as this object lives.
class Busy {
 public:
  explicit Busy(int count) {
    for (int i = 0; i < count; ++i) {
      children_.push_back(::fork());
      if (children_.back() == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile int turn = 0;;) turn = turn + 1;
      }
    }
  }
  ~Busy() {
    for (const pid_t child : children_) ::kill(child, SIGKILL);
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  std::vector<pid_t> children_;
};

struct Task {
  std::string name;
  std::function<double(const Contender&)> seconds;
};

/// Returns the seconds of one call of `work`, averaged over a tenth of a second or `most` calls.
/// Before each call the caller works for `gap` on its own, which is not counted.
double seconds_each(int most, microseconds gap, const std::function<void()>& work) {
  const auto end = Clock::now() + milliseconds(100);
  double inside = 0;
  int calls = 0;
  for (; calls < most && (calls == 0 || Clock::now() < end); ++calls) {
    if (gap.count() > 0) spin(gap);
    inside += seconds_of(work);
  }
  return inside / calls;
}

/// A task of parallel loops over two items that take `item` each.
Task loops(const std::string& name, microseconds item, microseconds gap) {
  return {name, [=](const Contender& contender) {
            return seconds_each(300, gap, [&] {
              core::parallel_for(2, core::Crew{contender.workers(), contender.executor},
                                 [&](std::int64_t, int) {
                                   if (item.count() > 0) spin(item);
                                 });
            });
          }};
}

/// A task that does what `tamis realise --dim 32` does, verification included.
Task witness(std::int64_t n) {
  const Pattern pattern = permutations_pattern(n, 2, 1, 1);
  return {fmt::format("realise, n = {}", n), [pattern](const Contender& contender) {
            set_default_executor(contender.executor);
            const double seconds = seconds_of([&] {
              RealiseOptions options;
              options.dim = 32;
              options.threads = contender.workers();
              if (!realise(pattern, options).witness.has_value()) std::abort();
            });
            set_default_executor(nullptr);
            return seconds;
          }};
}

/// Steps of decoding over keys and values that do not fit into the CPU's caches.
class Decode {
 public:
  Decode() {
    shape_.query_heads = 32;
    shape_.kv_heads = heads;
    shape_.queries = 1;
    shape_.head_dim = shape_.value_dim = dim;
    shape_.dtype = DType::f16;
    shape_.scale = 0.125F;
    std::vector<float> numbers(heads * tokens * dim);
    fill(numbers, 1);
    for (std::size_t i = 0; i < numbers.size(); ++i) rows_[i] = to_f16(numbers[i]);
    q_.resize(static_cast<std::size_t>(shape_.rows() * dim));
    fill(q_, 2);
    for (float& x : q_) x *= 4;
    cache_.add(sequence);
    Workspace workspace;
    const Rows all{rows_.data(), DType::f16, dim, tokens * dim};
    const std::int64_t count = tokens;
    cache_.append({&sequence, 1}, {&count, 1}, all, all, workspace);
  }

  double seconds(const Contender& contender, bool sparse) {
    Workspace workspace =
        contender.executor == nullptr ? Workspace(1) : Workspace(threads, *contender.executor);
    std::vector<float> out(static_cast<std::size_t>(shape_.rows() * dim));
    std::vector<float> lse(static_cast<std::size_t>(shape_.rows()));
    std::vector<Certificate> certificates(lse.size());
    const Budget budget = parse_budget("mass:0.05");
    const PageTables pages(DType::f16, rows_.data(), rows_.data(), heads, tokens, dim, dim);
    const std::int64_t one = 1;
    const Plan plan(cache_, {{&sequence, 1}, {&one, 1}, {}});
    const auto step = [&] {
      if (sparse) {
        attend(cache_, plan, {q_.data(), DType::f32, shape_.rows() * dim, dim}, {&budget, 1}, {},
               workspace, {{out.data(), DType::f32, shape_.rows() * dim, dim}, lse, certificates});
      } else {
        dense(shape_, {q_.data(), shape_.rows(), dim}, pages.heads(), {}, workspace,
              {out.data(), shape_.rows(), dim}, lse);
      }
    };
    step();
    return seconds_each(10, microseconds(0), step);
  }

 private:
  static constexpr std::int64_t heads = 8;
  static constexpr std::int64_t tokens = 16384;
  static constexpr std::int64_t dim = 128;
  static constexpr Sequence sequence = 1;

  static void fill(std::vector<float>& to, std::uint64_t row) {
    const numbers::Stream stream(1, numbers::Purpose::bench, row);
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = static_cast<float>(stream.normal(static_cast<std::uint32_t>(i)));
  }

  Shape shape_;
  std::vector<f16> rows_ = std::vector<f16>(heads * tokens * dim);  ///< keys, used as values too
  std::vector<float> q_;
  Cache cache_{Heads{32, heads, dim, dim, 0.125F}, CacheOptions{.dtype = DType::f16}};
};

/// Runs every contender once in each round, beginning with another one each time.
nlohmann::ordered_json compare(const Task& task, const std::vector<Contender>& all, int rounds) {
  std::vector<std::vector<double>> seconds(all.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t c = (i + static_cast<std::size_t>(round)) % all.size();
      std::this_thread::sleep_for(
          milliseconds(30));  // lets the previous contender's threads go to sleep
      seconds[c].push_back(task.seconds(all[c]));
    }
  nlohmann::ordered_json result{{"task", task.name}};
  for (std::size_t c = 0; c < all.size(); ++c)
    result[all[c].name] = {{"median", median(seconds[c])},
                           {"least", *std::ranges::min_element(seconds[c])}};
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::string(argv[1]) == "--quick";
  std::vector<Contender> all{{"one thread", nullptr}, {"own", &core::own_threads()}};
#ifdef TAMIS_BENCH_OPENMP
  OpenMp openmp;
  all.push_back({"OpenMP", &openmp});
#endif
#ifdef TAMIS_BENCH_TBB
  OneTbb tbb;
  all.push_back({"oneTBB", &tbb});
#endif
  Decode decode;
  std::vector<Task> small;
  for (const int gap : {0, 20, 100, 1000}) {
    const std::string after = gap == 0 ? "one after the other" : fmt::format("{} µs apart", gap);
    small.push_back(loops("empty loops, " + after, microseconds(0), microseconds(gap)));
    small.push_back(loops("loops of 2 × 50 µs, " + after, microseconds(50), microseconds(gap)));
  }
  const std::vector<Task> large{
      {"dense decode step", [&](const Contender& c) { return decode.seconds(c, false); }},
      {"sparse decode step", [&](const Contender& c) { return decode.seconds(c, true); }},
      witness(256)};
  nlohmann::ordered_json result;
  for (const bool busy : {false, true}) {
    const Busy others(busy ? 2 : 0);
    auto& rows = result[busy ? "busy" : "quiet"];
    for (const Task& task : small) rows.push_back(compare(task, all, quick ? 3 : 9));
    for (const Task& task : large) rows.push_back(compare(task, all, quick ? 1 : busy ? 3 : 7));
  }
  fmt::print("{}\n", result.dump(1));
}
