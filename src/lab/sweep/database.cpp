#include "lab/sweep/database.h"

#include <array>
#include <cmath>
#include <new>
#include <utility>

#include <tamis/text.h>

#include "core/fail.h"

namespace tamis::lab::sweep {
namespace {

constexpr int patience_ms = 2000;  // time to wait for a reader or a checkpoint of another process

constexpr int texts_of_a_row = 5;  // SQLite's limit on length also applies to whole rows

/// Limits far above what our own statements need and far below what could do harm.
constexpr std::array limits{
    std::pair{SQLITE_LIMIT_LENGTH, texts_of_a_row* most_text + (1 << 16)},
    std::pair{SQLITE_LIMIT_SQL_LENGTH, 1 << 14},
    std::pair{SQLITE_LIMIT_COLUMN, 64},
    std::pair{SQLITE_LIMIT_EXPR_DEPTH, 32},
    std::pair{SQLITE_LIMIT_COMPOUND_SELECT, 4},
    std::pair{SQLITE_LIMIT_VDBE_OP, 1 << 14},
    std::pair{SQLITE_LIMIT_FUNCTION_ARG, 8},
    std::pair{SQLITE_LIMIT_ATTACHED, 0},
    std::pair{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64},
    std::pair{SQLITE_LIMIT_VARIABLE_NUMBER, 16},
    std::pair{SQLITE_LIMIT_TRIGGER_DEPTH, 1},
    std::pair{SQLITE_LIMIT_WORKER_THREADS, 0},
};

}  // namespace

Database::Database(std::string path, const std::string& name, int flags) : path_(std::move(path)) {
  const int opened = sqlite3_open_v2(name.c_str(), &handle_, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  if (handle_ == nullptr) throw std::bad_alloc();
  try {
    check(opened);
    sqlite3_extended_result_codes(handle_, 1);
    sqlite3_busy_timeout(handle_, patience_ms);
    for (const auto& [which, most] : limits) sqlite3_limit(handle_, which, most);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    run("PRAGMA cell_size_check = ON");
    run("PRAGMA mmap_size = 0");
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

Database::~Database() { sqlite3_close(handle_); }

void Database::check(int code) const {
  switch (code & 0xFF) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
      return;
    case SQLITE_NOMEM:
      throw std::bad_alloc();
    case SQLITE_FULL:
    case SQLITE_IOERR:
      core::fail(
          Code::io,
          "{}: the disk is full or failed ({}); what was written before is kept, and the same "
          "command goes on from there",
          path_, sqlite3_errmsg(handle_));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_TOOBIG:
    // Our statements are fixed. If SQLite rejects one, the file is at fault.
    case SQLITE_ERROR:
    case SQLITE_SCHEMA:
    case SQLITE_FORMAT:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT:
      fail_damaged(sqlite3_errmsg(handle_));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:  // SQLite gave up waiting for the log's locks
      core::fail(Code::io, "{}: another program holds it; try again when that has ended", path_);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      core::fail(Code::io, "{}: cannot be written here ({}); copy it to a folder of your own",
                 path_, sqlite3_errmsg(handle_));
    case SQLITE_CANTOPEN:
      core::fail(Code::io,
                 "{}: it, or the files that SQLite keeps beside it, cannot be opened ({})", path_,
                 sqlite3_errmsg(handle_));
    default:
      core::fail(Code::internal, "{}: SQLite: {}", path_, printable(sqlite3_errmsg(handle_)));
  }
}

void Database::fail_damaged(std::string_view what) const {
  core::fail(Code::input, "{}: is damaged ({}); restore it from a copy, or give another name",
             path_, printable(what));
}

Statement::Statement(const Database& database, const char* sql) : database_(database) {
  database_.check(sqlite3_prepare_v2(database_.handle(), sql, -1, &statement_, nullptr));
}

void Statement::bind(int place, std::string_view text) {
  if (std::ssize(text) > most_text)
    core::fail(Code::usage, "{}: a text of {} bytes is longer than a store takes; {} are the most",
               database_.path(), text.size(), most_text);
  database_.check(
      sqlite3_bind_text(statement_, place, text.data(), static_cast<int>(text.size()), nullptr));
}
void Statement::bind(int place, std::int64_t number) {
  database_.check(sqlite3_bind_int64(statement_, place, number));
}
void Statement::bind(int place, double number) {
  if (!std::isfinite(number))  // SQLite would store a NaN as NULL
    core::fail(Code::usage, "{}: a time of {} cannot be kept; it must be finite", database_.path(),
               number);
  database_.check(sqlite3_bind_double(statement_, place, number));
}
void Statement::bind_null(int place) { database_.check(sqlite3_bind_null(statement_, place)); }

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  database_.check(code);
  return code == SQLITE_ROW;
}

std::string Statement::text(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_TEXT)
    database_.fail_damaged("a value that is not text stands where text must be");
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (bytes == nullptr) throw std::bad_alloc();
  const int size = sqlite3_column_bytes(statement_, column);
  if (size > most_text) database_.fail_damaged(fmt::format("a text has {} bytes", size));
  return {bytes, static_cast<std::size_t>(size)};
}

std::optional<std::string> Statement::text_or_null(int column) const {
  if (is_null(column)) return {};
  return text(column);
}

std::int64_t Statement::whole(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_INTEGER)
    database_.fail_damaged("a value that is no whole number stands where one must be");
  return sqlite3_column_int64(statement_, column);
}

double Statement::seconds(int column) const {
  const int type = sqlite3_column_type(statement_, column);
  const double value = sqlite3_column_double(statement_, column);
  if ((type != SQLITE_FLOAT && type != SQLITE_INTEGER) || !std::isfinite(value) || value < 0)
    database_.fail_damaged("a time is not a number from 0 on");
  return value;
}

}  // namespace tamis::lab::sweep
