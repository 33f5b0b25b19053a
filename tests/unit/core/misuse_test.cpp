// Errors for misused objects: pages with another element type, objects that were moved from, and a
// workspace shared by threads.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <tamis/attend.h>
#include <tamis/attention.h>
#include <tamis/error.h>
#include <tamis/lab/store.h>
#include <tamis/lab/sweep.h>
#include <tamis/lab/tensor.h>

#include "support/certificates/kinds.h"
#include "support/io_files.h"
#include "unit/capi/capi_problem.h"

namespace tamis {
namespace {

void expect_usage(const std::function<void()>& call, const std::string& part) {
  try {
    call();
    ADD_FAILURE() << "no error; one about " << part << " was due";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::usage) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

constexpr std::int64_t tokens = 300;
constexpr std::int64_t dim = 16;

/// Keys and values of one head, all ½.
struct Some {
  explicit Some(DType dtype, std::int64_t count = tokens)
      : numbers(static_cast<std::size_t>(count * dim), 0.5F),
        bytes(test::bytes_of(dtype, numbers)),
        tables(dtype, bytes.data(), bytes.data(), 1, count, dim, dim) {}
  [[nodiscard]] std::span<const KvPages> heads() const { return tables.heads(); }

  std::vector<float> numbers;
  std::vector<std::byte> bytes;
  PageTables tables;
};

/// A cache of one head in f32, and a sequence in it.
Cache some_cache() {
  CacheOptions options;
  options.dtype = DType::f32;
  Cache cache({1, 1, dim, dim, 0.25F}, options);
  cache.add(1);
  return cache;
}
void append_some(Cache& cache, Workspace& workspace) {
  const std::vector<float> numbers(tokens * dim, 0.5F);
  const Rows rows{numbers.data(), DType::f32, dim, dim};
  const Sequence sequence = 1;
  const std::int64_t count = tokens;
  cache.append({&sequence, 1}, {&count, 1}, rows, rows, workspace);
}

/// One query over one head of f32.
struct Query {
  Shape shape{1, 1, 1, dim, dim, DType::f32, 0.25F};
  std::vector<float> q = std::vector<float>(dim, 1.0F);
  std::vector<float> out = std::vector<float>(dim);
  std::vector<float> lse = std::vector<float>(1);

  void dense(std::span<const KvPages> kv, Workspace& workspace) {
    tamis::dense(shape, {q.data(), 1, dim}, kv, {}, workspace, {out.data(), 1, dim}, lse);
  }
  void attend(const Cache& cache, Workspace& workspace) {
    const Budget budget = parse_budget("mass:0.1");
    const Sequence sequence = 1;
    const std::int64_t queries = 1;
    const Plan plan(cache, {{&sequence, 1}, {&queries, 1}, {}});
    std::vector<Certificate> certificates(1);
    tamis::attend(cache, plan, {q.data(), DType::f32, dim, dim}, {&budget, 1}, {}, workspace,
                  {{out.data(), DType::f32, dim, dim}, lse, certificates});
  }
};

TEST(Misuse, PagesOfAnotherTypeAreRefused) {
  Query query;
  Workspace workspace(1);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Some some(dtype);
    const std::string part = "holds " + std::string(name_of(dtype)) + ", not f32";
    expect_usage([&] { query.dense(some.heads(), workspace); }, part);
    std::vector<double> out(dim);
    std::vector<double> lse(1);
    expect_usage(
        [&] {
          reference(query.shape, {query.q.data(), 1, dim}, some.heads(), {}, {out.data(), 1, dim},
                    lse);
        },
        part);
  }
  const Some right(DType::f32);
  query.dense(right.heads(), workspace);
  KvPages lent = right.heads()[0];
  lent.dtype.reset();  // lent pages need not have a dtype
  query.dense({&lent, 1}, workspace);
}

TEST(Misuse, AWorkspaceThatWasMovedFromIsRefused) {
  Query query;
  const Some store(DType::f32);
  Workspace from(1);
  Workspace to(std::move(from));
  const std::string part = "a Workspace that was moved from";
  expect_usage([&] { (void)from.threads(); }, part);
  expect_usage([&] { query.dense(store.heads(), from); }, part);
  Cache cache = some_cache();
  expect_usage([&] { append_some(cache, from); }, part);
  expect_usage([&] { query.attend(cache, from); }, part);
  query.dense(store.heads(), to);
  from = std::move(to);
  query.dense(store.heads(), from);
}

TEST(Misuse, FilesThatWereMovedFromAreRefused) {
  const test::Folder folder;
  lab::write_safetensors(folder / "empty.safetensors", {});
  lab::SafetensorsFile file(folder / "empty.safetensors");
  const lab::SafetensorsFile other(std::move(file));
  expect_usage([&] { (void)file.path(); }, "a SafetensorsFile that was moved from");
  expect_usage([&] { (void)file.find("x"); }, "a SafetensorsFile that was moved from");
  lab::SweepStore store(folder / "store", lab::StoreUse::write);
  const lab::SweepStore other_store(std::move(store));
  expect_usage([&] { (void)store.status(); }, "a SweepStore that was moved from");
}

/// Waits before it runs its first work, so that a call lasts as long as a test wants.
struct Gate : Executor {
  int concurrency() const override { return 2; }
  void run(int, void* context, void (*body)(void*, int)) override {
    if (!asked.exchange(true)) {
      begun.count_down();
      open.wait();
    }
    body(context, 0);
  }
  std::atomic<bool> asked = false;
  std::latch begun{1};
  std::latch open{1};
};

TEST(Misuse, AWorkspaceInUseByAnotherThreadIsRefused) {
  const Some store(DType::f32);
  const Some large(DType::f32, 42 * page_tokens);
  Gate gate;
  Workspace workspace(2, gate);
  Query slow;
  std::jthread other([&] { slow.dense(large.heads(), workspace); });  // several spans long
  gate.begun.wait();
  const std::string part = "in use by another thread";
  Query query;
  expect_usage([&] { query.dense(store.heads(), workspace); }, part);
  Cache cache = some_cache();
  expect_usage([&] { append_some(cache, workspace); }, part);
  expect_usage([&] { query.attend(cache, workspace); }, part);
  gate.open.count_down();
  other.join();
  query.dense(store.heads(), workspace);
  query.dense(large.heads(), workspace);
  EXPECT_EQ(slow.out, query.out);
}

TEST(Misuse, AWorkspaceIsFreeAgainAfterACallThatFailed) {
  const Some store(DType::f32);
  Workspace workspace(1);
  Query bad;
  bad.q[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(bad.dense(store.heads(), workspace), Error);
  Cache cache = some_cache();
  cache.remove(1);
  EXPECT_THROW(append_some(cache, workspace), Error);
  std::jthread([&] {
    Query query;
    EXPECT_NO_THROW(query.dense(store.heads(), workspace));
  });
}

}  // namespace
}  // namespace tamis

namespace tamis_c {
namespace {

/// An executor for the C ABI that calls a Gate.
void run_through_gate(void* gate, int workers, void* work, void (*body)(void*, int)) {
  static_cast<tamis::Executor*>(gate)->run(workers, work, body);
}
int two(void* /*gate*/) { return 2; }

TEST(CApi, AWorkspaceInUseByAnotherThreadIsRefused) {
  Problem p;
  tamis::Gate gate;
  const tamis_executor executor{sizeof executor, static_cast<tamis::Executor*>(&gate), two,
                                run_through_gate};
  Workspace workspace;
  ASSERT_EQ(tamis_workspace_create_on(2, &executor, &workspace), TAMIS_OK);
  const auto dense = [&](Result& to) {
    return tamis_dense(&p.shape, p.q.data(), p.pages.data(), p.seen.data(), workspace,
                       to.out.data(), to.lse.data());
  };
  Result slow{p.out, p.lse};
  Result quick{p.out, p.lse};
  std::jthread other([&] { EXPECT_EQ(dense(slow), TAMIS_OK); });
  gate.begun.wait();
  expect_usage(dense(quick), "in use by another thread");
  gate.open.count_down();
  other.join();
  EXPECT_EQ(dense(quick), TAMIS_OK);
  EXPECT_EQ(slow, quick);
  EXPECT_EQ(quick, by_cpp(p));
}

TEST(CApi, AnExecutorOfTheCallersWorks) {
  struct Counter : tamis::Executor {
    int concurrency() const override { return 2; }
    void run(int workers, void* context, void (*body)(void*, int)) override {
      ++runs;
      for (int worker = 0; worker < workers; ++worker) body(context, worker);
    }
    int runs = 0;
  } counter;
  tamis_executor executor{sizeof executor, static_cast<tamis::Executor*>(&counter), two,
                          run_through_gate};
  Problem p;
  ASSERT_EQ(tamis_set_default_executor(&executor), TAMIS_OK);
  EXPECT_STREQ(tamis_parallel_runtime(), "executor");
  EXPECT_EQ(p.dense(), TAMIS_OK);
  ASSERT_EQ(tamis_set_default_executor(nullptr), TAMIS_OK);
  EXPECT_STREQ(tamis_parallel_runtime(), "threads");
  EXPECT_EQ(counter.runs, tamis_hardware_threads() > 1 ? 1 : 0);  // p's workspace was made before
  EXPECT_EQ((Result{p.out, p.lse}), by_cpp(p));

  Workspace workspace;
  expect_usage(tamis_workspace_create_on(2, nullptr, &workspace), "tamis_executor");
  executor.run = nullptr;
  expect_usage(tamis_workspace_create_on(2, &executor, &workspace), "run");
  expect_usage(tamis_set_default_executor(&executor), "run");
  executor.size = 8;
  expect_usage(tamis_set_default_executor(&executor), "size");
}

}  // namespace
}  // namespace tamis_c
