// What callers get wrong about objects, and are told: the type of a store's elements, objects that were
// moved from, a workspace shared by threads.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <tamis/attention.h>
#include <tamis/error.h>
#include <tamis/sieve.h>
#include <tamis/store.h>
#include <tamis/sweep.h>
#include <tamis/tensor.h>

#include "capi_problem.h"
#include "io_support.h"

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

KvStore some_store(DType dtype) {
  KvStore store(dtype, 1, dim, dim);
  const std::vector<float> rows(tokens * dim, 0.5F);
  store.append({rows.data(), tokens, dim}, {rows.data(), tokens, dim});
  return store;
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
  void attend(const Index& index, std::span<const KvPages> kv, Workspace& workspace) {
    const Budget budget = parse_budget("mass:0.1");
    std::vector<Certificate> certificates(1);
    tamis::attend(index, shape, {q.data(), 1, dim}, kv, {}, {&budget, 1}, {}, workspace,
                  {out.data(), 1, dim}, lse, certificates);
  }
};

Index some_index() {
  IndexShape shape;
  shape.head_dim = shape.value_dim = dim;
  return Index(shape);
}

TEST(Misuse, PagesOfAnotherTypeAreRefused) {
  Query query;
  Workspace workspace(1);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const KvStore store = some_store(dtype);
    const std::vector<float> array(tokens * dim);
    const PageTables tables(dtype, array.data(), array.data(), 1, tokens, dim, dim);
    for (const std::span<const KvPages> kv : {store.heads(), tables.heads()}) {
      const std::string part = "holds " + std::string(name_of(dtype)) + ", not f32";
      expect_usage([&] { query.dense(kv, workspace); }, part);
      expect_usage([&] { query.attend(some_index(), kv, workspace); }, part);
      std::vector<double> out(dim);
      std::vector<double> lse(1);
      expect_usage(
          [&] {
            reference(query.shape, {query.q.data(), 1, dim}, kv, {}, {out.data(), 1, dim}, lse);
          },
          part);
      expect_usage([&] { some_index().extend(kv, workspace); }, part);
    }
  }
  const KvStore right = some_store(DType::f32);
  query.dense(right.heads(), workspace);
  KvPages lent = right.heads()[0];
  lent.dtype.reset();  // whoever lends pages need not say what they hold
  query.dense({&lent, 1}, workspace);
}

TEST(Misuse, AnIndexIsNotReadForAnotherTypeThanItsPages) {
  const test::Folder folder;
  const std::string path = folder / "index";
  const KvStore store = some_store(DType::f32);
  const KvStore other = some_store(DType::f16);
  Workspace workspace(1);
  Index index = some_index();
  index.extend(store.heads(), workspace);
  index.save(path, store.heads());
  expect_usage([&] { Index::load(path, DType::f32, other.heads()); }, "holds f16");
  expect_usage([&] { index.save(path, other.heads()); }, "holds f16");
  EXPECT_EQ(Index::load(path, DType::f32, store.heads()).tokens(), index.tokens());
}

TEST(Misuse, AWorkspaceThatWasMovedFromIsRefused) {
  Query query;
  const KvStore store = some_store(DType::f32);
  Workspace from(1);
  Workspace to(std::move(from));
  const std::string part = "a Workspace that was moved from";
  expect_usage([&] { (void)from.threads(); }, part);
  expect_usage([&] { query.dense(store.heads(), from); }, part);
  expect_usage([&] { some_index().extend(store.heads(), from); }, part);
  query.dense(store.heads(), to);
  from = std::move(to);
  query.dense(store.heads(), from);
}

TEST(Misuse, AnIndexThatWasMovedFromIsRefused) {
  Query query;
  const KvStore store = some_store(DType::f32);
  Workspace workspace(1);
  Index from = some_index();
  from.extend(store.heads(), workspace);
  Index to(std::move(from));
  const std::string part = "an Index that was moved from";
  expect_usage([&] { (void)from.shape(); }, part);
  expect_usage([&] { (void)from.tokens(); }, part);
  expect_usage([&] { (void)from.bytes(); }, part);
  expect_usage([&] { from.truncate(0); }, part);
  expect_usage([&] { from.extend(store.heads(), workspace); }, part);
  expect_usage([&] { from.save("unwritten", store.heads()); }, part);
  expect_usage([&] { query.attend(from, store.heads(), workspace); }, part);
  expect_usage([&] { const Index copy(from); }, part);
  from = to;
  query.attend(from, store.heads(), workspace);
}

TEST(Misuse, AStoreThatWasMovedFromIsRefused) {
  KvStore from = some_store(DType::f32);
  KvStore to(std::move(from));
  const std::string part = "a KvStore that was moved from";
  const std::vector<float> row(dim);
  expect_usage([&] { from.append({row.data(), 1, dim}, {row.data(), 1, dim}); }, part);
  expect_usage([&] { from.append(row.data(), row.data(), 1); }, part);
  expect_usage([&] { from.truncate(0); }, part);
  expect_usage([&] { (void)from.dtype(); }, part);
  expect_usage([&] { (void)from.tokens(); }, part);
  expect_usage([&] { (void)from.kv_heads(); }, part);
  expect_usage([&] { (void)from.head_dim(); }, part);
  expect_usage([&] { (void)from.value_dim(); }, part);
  expect_usage([&] { (void)from.heads(); }, part);
  expect_usage([&] { (void)from.bytes(); }, part);
  expect_usage([&] { const KvStore copy(from); }, part);
  from = to;
  EXPECT_EQ(from.tokens(), tokens);
}

TEST(Misuse, FilesThatWereMovedFromAreRefused) {
  const test::Folder folder;
  write_safetensors(folder / "empty.safetensors", {});
  SafetensorsFile file(folder / "empty.safetensors");
  const SafetensorsFile other(std::move(file));
  expect_usage([&] { (void)file.path(); }, "a SafetensorsFile that was moved from");
  expect_usage([&] { (void)file.find("x"); }, "a SafetensorsFile that was moved from");
  SweepStore store(folder / "store", StoreUse::write);
  const SweepStore other_store(std::move(store));
  expect_usage([&] { (void)store.status(); }, "a SweepStore that was moved from");
}

/// Begins its first work when it may, so that a call lasts as long as a test wants.
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
  const KvStore store = some_store(DType::f32);
  const std::vector<float> more(40 * page_tokens * dim, 0.25F);
  KvStore large = some_store(DType::f32);
  large.append({more.data(), 40 * page_tokens, dim}, {more.data(), 40 * page_tokens, dim});
  Gate gate;
  Workspace workspace(2, gate);
  Query slow;
  std::jthread other([&] { slow.dense(large.heads(), workspace); });  // of several spans
  gate.begun.wait();
  const std::string part = "in use by another thread";
  Query query;
  expect_usage([&] { query.dense(store.heads(), workspace); }, part);
  Index index = some_index();
  expect_usage([&] { index.extend(store.heads(), workspace); }, part);
  expect_usage([&] { query.attend(index, store.heads(), workspace); }, part);
  gate.open.count_down();
  other.join();
  query.dense(store.heads(), workspace);
  query.dense(large.heads(), workspace);
  EXPECT_EQ(slow.out, query.out);
}

TEST(Misuse, AWorkspaceIsFreeAgainAfterACallThatFailed) {
  const KvStore store = some_store(DType::f32);
  Workspace workspace(1);
  Query bad;
  bad.q[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(bad.dense(store.heads(), workspace), Error);
  EXPECT_THROW(bad.attend(some_index(), store.heads(), workspace), Error);
  std::jthread([&] {
    Query query;
    EXPECT_NO_THROW(query.dense(store.heads(), workspace));
  });
}

}  // namespace
}  // namespace tamis

namespace tamis_c {
namespace {

/// The C executor of a Gate.
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
    return tamis_dense(&p.shape, p.q.data(), p.pages.data(), p.seen.data(), workspace, to.out.data(),
                       to.lse.data());
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
  tamis_executor executor{sizeof executor, static_cast<tamis::Executor*>(&counter), two, run_through_gate};
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
