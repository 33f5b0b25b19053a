// Shared by the tests of sweeps: made-up points, stores in temporary folders, and ranks that are
// threads with message queues.
#pragma once

#include <sqlite3.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <tamis/lab/store.h>

#include "lab/sweep/work.h"
#include "support/io_files.h"

namespace tamis {

using test::Folder;

/// Runs SQL on a file, as another program would.
inline void run_sql(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  sqlite3_open(path.c_str(), &database);
  const int code = sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr);
  const std::string said = sqlite3_errmsg(database);
  sqlite3_close(database);
  if (code != SQLITE_OK) throw std::runtime_error(said);
}

/// Points 0 … count − 1, whose cost estimates are not in the same order.
inline std::vector<lab::SweepPoint> made_up_points(std::size_t count) {
  std::vector<lab::SweepPoint> points;
  for (std::size_t i = 0; i < count; ++i)
    points.push_back({"{\"i\":" + std::to_string(i) + "}", static_cast<double>(1 + i * 7 % 5)});
  return points;
}

inline std::string made_up_result(std::size_t i) {
  return "{\"square\":" + std::to_string(i * i) + "}";
}

/// For every point what the store holds: the result, or "failed: " and the message.
inline std::vector<std::string> held(const lab::SweepStore& store, const lab::sweep::Work& work) {
  std::vector<std::string> all;
  for (const auto& point : store.look_up(work.sweep, work.points))
    all.push_back(!point ? "missing" : point->result ? *point->result : "failed: " + point->error);
  return all;
}

/// Message queues, one per rank.
class Boxes {
 public:
  explicit Boxes(int size) : boxes_(static_cast<std::size_t>(size)) {}
  void put(int to, lab::RankMessage message) {
    const std::lock_guard lock(mutex_);
    boxes_.at(static_cast<std::size_t>(to)).push_back(std::move(message));
  }
  std::optional<lab::RankMessage> get(int of) {
    const std::lock_guard lock(mutex_);
    auto& box = boxes_.at(static_cast<std::size_t>(of));
    if (box.empty()) return {};
    lab::RankMessage message = std::move(box.front());
    box.pop_front();
    return message;
  }
  [[nodiscard]] int size() const { return static_cast<int>(boxes_.size()); }
  [[nodiscard]] bool empty() {
    const std::lock_guard lock(mutex_);
    for (const auto& box : boxes_)
      if (!box.empty()) return false;
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<std::deque<lab::RankMessage>> boxes_;
};

class ThreadRank final : public lab::Ranks {
 public:
  ThreadRank(Boxes& boxes, int rank) : boxes_(boxes), rank_(rank) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return boxes_.size(); }
  void send(int to, std::string bytes) override { boxes_.put(to, {rank_, std::move(bytes)}); }
  std::optional<lab::RankMessage> poll() override { return boxes_.get(rank_); }
  void abort(int) override { std::abort(); }

 private:
  Boxes& boxes_;
  int rank_;
};

}  // namespace tamis
