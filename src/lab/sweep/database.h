// SQLite connections and statements that throw our errors and are closed when they go
// out of scope.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tamis::lab::sweep {

/// The greatest length of a text in a store, in bytes, so that a hostile store
/// cannot exhaust memory.
constexpr int most_text = 1 << 22;

class Database {
 public:
  /// `name` is passed to SQLite; `path` names the store in messages. Hostile content cannot run
  /// code: triggers, views and functions in the schema are disabled.
  Database(std::string path, const std::string& name, int flags);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const char* sql) { check(try_run(sql)); }
  /// Returns SQLite's result code.
  int try_run(const char* sql) { return sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr); }
  /// Throws the error that corresponds to `code`, unless that means success.
  void check(int code) const;
  [[noreturn]] void fail_damaged(std::string_view what) const;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] sqlite3* handle() const { return handle_; }

 private:
  std::string path_;
  sqlite3* handle_ = nullptr;
};

class Statement {
 public:
  Statement(const Database& database, const char* sql);
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Binds a parameter; places count from 1. Throws `usage` for a text longer than `most_text` and
  /// for a number that is not finite. A text must stay valid until the statement is reset.
  void bind(int place, std::string_view text);
  void bind(int place, std::int64_t number);
  void bind(int place, double number);
  void bind_null(int place);
  /// Advances to the next row; returns false if there is none.
  bool step();
  /// Makes the statement ready to bind and to step again.
  void reset() { sqlite3_reset(statement_); }

  /// Values of the current row. Columns count from 0. They throw `input` if the value
  /// has another type.
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::optional<std::string> text_or_null(int column) const;
  [[nodiscard]] std::int64_t whole(int column) const;
  [[nodiscard]] bool is_null(int column) const {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
  }
  /// Throws `input` unless the number is finite and not negative.
  [[nodiscard]] double seconds(int column) const;

 private:
  const Database& database_;
  sqlite3_stmt* statement_ = nullptr;
};

/// A transaction that is rolled back unless it is committed.
class Transaction {
 public:
  explicit Transaction(Database& database, const char* begin = "BEGIN IMMEDIATE")
      : database_(database) {
    database_.run(begin);
  }
  ~Transaction() {
    if (sqlite3_get_autocommit(database_.handle()) == 0) database_.try_run("ROLLBACK");
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() { database_.run("COMMIT"); }

 private:
  Database& database_;
};

}  // namespace tamis::lab::sweep
