// The store's schema, the validation of its file, and reading and writing points.
#include <tamis/lab/store.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <new>

#include <tamis/lab/tensor.h>
#include <tamis/text.h>

#include "core/fail.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/inside_of.h"
#include "core/text.h"
#include "lab/sweep/database.h"
#include "lab/sweep/store_lock.h"

namespace tamis::lab {
namespace {

constexpr std::int64_t application = 0x746D7377;  // "tmsw"
/// Version 1 has no checksums. A store of version 1 is read as it is, and converted to the newest
/// version when it is first opened for writing.
constexpr std::int64_t newest = 2;

struct Table {
  const char* name;
  const char* sql;
};
constexpr Table planned_table{
    "planned",
    "CREATE TABLE planned(sweep TEXT NOT NULL, place INTEGER NOT NULL, parameters TEXT NOT NULL, "
    "guess REAL NOT NULL, PRIMARY KEY (sweep, place)) STRICT, WITHOUT ROWID"};
constexpr Table point_table{
    "point",
    "CREATE TABLE point(sweep TEXT NOT NULL, parameters TEXT NOT NULL, result TEXT, error TEXT, "
    "seconds REAL NOT NULL, version TEXT NOT NULL, target TEXT NOT NULL, checksum TEXT NOT NULL, "
    "PRIMARY KEY (sweep, parameters), CHECK ((result IS NULL) <> (error IS NULL))) STRICT, "
    "WITHOUT ROWID"};
constexpr Table point_table_1{
    "point",
    "CREATE TABLE point(sweep TEXT NOT NULL, parameters TEXT NOT NULL, result TEXT, error TEXT, "
    "seconds REAL NOT NULL, version TEXT NOT NULL, target TEXT NOT NULL, PRIMARY KEY (sweep, "
    "parameters), CHECK ((result IS NULL) <> (error IS NULL))) STRICT, WITHOUT ROWID"};
/// Tables in the order of their names. A file whose schema differs in any character is
/// not a store.
constexpr std::array schema{planned_table, point_table};
constexpr std::array schema_1{planned_table, point_table_1};

std::int64_t big_endian(const std::string& bytes, std::size_t at) {
  std::int64_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// Checks the header (layout: https://www.sqlite.org/fileformat.html, 1.3) before SQLite opens the
/// file, which could change a file that is not a store. Returns false for an empty file.
bool check_header(const std::string& path) {
  constexpr std::int64_t header_size = 100;
  const auto file = core::open_file(path);
  if (file->size() == 0) return false;
  std::string header(static_cast<std::size_t>(std::min(file->size(), header_size)), '\0');
  file->read_at(0, std::as_writable_bytes(std::span(header)));
  if (!header.starts_with(std::string("SQLite format 3\0", 16)))
    core::fail(Code::input,
               "{}: is not a store of sweeps: it is no SQLite database; give another name", path);
  if (std::ssize(header) < header_size)
    core::fail(Code::input, "{}: is damaged: it ends in its header", path);
  if (big_endian(header, 68) != application)
    core::fail(Code::input,
               "{}: is a database of another program, not a store of sweeps; give another name",
               path);
  if (const std::int64_t version = big_endian(header, 60); version > newest)
    core::fail(Code::input,
               "{}: is a store of version {}, made by a newer tamis; this one knows version {}",
               path, version, newest);
  return true;
}

/// Returns SQLite's code for its first reading of the schema. For some damaged schemas SQLite
/// reports that memory is exhausted, however much there is.
int try_schema(sweep::Database& database) {
  const int said = database.try_run("SELECT 1 FROM sqlite_schema") & 0xFF;
  if (said == SQLITE_NOMEM)
    database.fail_damaged("its schema cannot be read, or memory is exhausted");
  return said;
}

std::int64_t version_of(const sweep::Database& database) {
  sweep::Statement version(database, "PRAGMA user_version");
  return version.step() ? version.whole(0) : 0;
}

/// A checksum of a point as it is stored. It covers every column: a text as its length in bytes,
/// ":" and the text, NULL as "-", and seconds as the 8 bytes of the double, the lowest first.
std::string checksum_of(const std::string& sweep, const StoredPoint& point) {
  core::Hash hash;
  const auto add = [&hash](const std::string& text) {
    hash.add(fmt::format("{}:", text.size()));
    hash.add(text);
  };
  add(sweep);
  add(point.parameters);
  point.result ? add(*point.result) : hash.add("-");
  point.result ? hash.add("-") : add(point.error);
  const double seconds = point.seconds + 0.0;  // SQLite does not store the sign of zero
  hash.add(std::as_bytes(std::span(&seconds, 1)));
  add(point.version);
  add(point.target);
  return hash.hex();
}

/// Makes a point from columns 0 to 5 of a row: result, error, seconds,
/// version, target, parameters.
StoredPoint point_in(const sweep::Statement& row) {
  return {row.text(5),    row.text_or_null(0), row.text_or_null(1).value_or(""),
          row.seconds(2), row.text(3),         row.text(4)};
}

/// Throws `input` unless every point has the checksum with which it was written.
void check_sums(const std::string& path, const sweep::Database& database) {
  sweep::Statement points(
      database,
      "SELECT result, error, seconds, version, target, parameters, sweep, checksum FROM point");
  while (points.step()) {
    const StoredPoint point = point_in(points);
    const std::string sweep = points.text(6);
    const std::string said = points.text(7);
    if (checksum_of(sweep, point) == said) continue;
    core::fail(Code::input,
               "{}: its point {} of {} is damaged: it does not have the checksum {} with which it "
               "was written; restore the store from a copy, or take the point out (DELETE FROM "
               "point WHERE checksum = '{}') and run the sweep again",
               path, core::quote(point.parameters), core::quote(sweep), printable(said),
               printable(said));
  }
}

void check_content(const std::string& path, sweep::Database& database) {
  const sweep::Transaction one_moment(database, "BEGIN");
  const std::int64_t version = version_of(database);
  sweep::Statement tables(database, "SELECT name, sql FROM sqlite_schema ORDER BY name");
  const auto differs = [&] {
    core::fail(Code::input,
               "{}: its tables are not those of a store of sweeps of version {}; give another name",
               path, version);
  };
  if (version < 1 || version > newest) differs();
  for (const Table& table : version == 1 ? schema_1 : schema)
    if (!tables.step() || tables.text(0) != table.name || tables.text_or_null(1) != table.sql)
      differs();
  if (tables.step()) differs();
  sweep::Statement pages(database, "PRAGMA quick_check(1)");
  if (!pages.step()) database.fail_damaged("it cannot be checked");
  if (const std::string said = pages.text(0); said != "ok") database.fail_damaged(said);
  if (version == newest) check_sums(path, database);
}

/// The path of the file after following links, even if it does not exist yet. Otherwise the lock
/// of a store reached through a link would not be beside the store.
std::string place_of(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos)
    core::fail(Code::usage,
               "the name of the store is empty or holds a zero byte; give the name of a file");
  std::error_code error;
  const auto place = std::filesystem::weakly_canonical(
      std::filesystem::absolute(behind_links(path), error), error);
  if (error) core::fail(Code::io, "{}: cannot be reached: {}", path, error.message());
  if (!std::filesystem::is_directory(place.parent_path(), error))
    core::fail(Code::io, "{}: there is no folder {}; make it first", path,
               place.parent_path().string());
  return place.string();
}

/// The bytes of an empty store.
std::string fresh_store() {
  if (sqlite3_libversion_number() < 3037000)
    core::fail(
        Code::io,
        "SQLite {} is too old for a store of sweeps; 3.37 is the first that has STRICT tables",
        sqlite3_libversion());
  sweep::Database database("a new store", ":memory:", SQLITE_OPEN_READWRITE);
  database.run(fmt::format("PRAGMA application_id = {}", application).c_str());
  database.run(fmt::format("PRAGMA user_version = {}", newest).c_str());
  for (const Table& table : schema) database.run(table.sql);
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, void (*)(void*)> bytes(
      sqlite3_serialize(database.handle(), "main", &size, 0), sqlite3_free);
  if (!bytes) throw std::bad_alloc();
  return {reinterpret_cast<const char*>(bytes.get()), static_cast<std::size_t>(size)};
}

/// Throws `usage` if there is a log of an earlier store, for example of one that was deleted after
/// its run was killed: SQLite would write its content into the new store.
void refuse_leftover_log(const std::string& path, const std::string& place) {
  for (const char* suffix : {"-wal", "-journal"}) {
    const std::string log = place + suffix;
    std::error_code error;
    if (std::filesystem::exists(std::filesystem::symlink_status(log, error)) &&
        !std::filesystem::is_empty(log, error))
      core::fail(
          Code::usage,
          "{}: there is no store, but {} of an earlier one; delete that, or give another name",
          path, log);
  }
}

/// A new store appears under its name only once it is complete, so that readers never see
/// part of one.
void make_store(const std::string& path, const std::string& place) {
  refuse_leftover_log(path, place);
  write_text(place, fresh_store());
}

void insert_points(sweep::Database& database, const std::string& sweep,
                   std::span<const StoredPoint> points) {
  sweep::Statement put(database,
                       "INSERT OR REPLACE INTO point VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
  put.bind(1, sweep);
  for (const StoredPoint& point : points) {
    const std::string checksum = checksum_of(sweep, point);
    put.bind(2, point.parameters);
    point.result ? put.bind(3, *point.result) : put.bind_null(3);
    point.result ? put.bind_null(4) : put.bind(4, point.error);
    put.bind(5, point.seconds);
    put.bind(6, point.version);
    put.bind(7, point.target);
    put.bind(8, checksum);
    put.step();
    put.reset();
  }
}

/// Converts a store of version 1 to the newest version, in one transaction.
void bring_up_to_date(sweep::Database& database) {
  if (version_of(database) == newest) return;
  sweep::Transaction transaction(database);
  std::map<std::string, std::vector<StoredPoint>> sweeps;
  {
    sweep::Statement points(
        database, "SELECT result, error, seconds, version, target, parameters, sweep FROM point");
    while (points.step()) sweeps[points.text(6)].push_back(point_in(points));
  }
  database.run("DROP TABLE point");
  database.run(point_table.sql);
  for (const auto& [sweep, points] : sweeps) insert_points(database, sweep, points);
  database.run(fmt::format("PRAGMA user_version = {}", newest).c_str());
  transaction.commit();
}

void keep_log(const std::string& path, sweep::Database& database) {
  // If SQLite cannot use WAL mode, it continues in another mode and reports that only here.
  sweep::Statement mode(database, "PRAGMA journal_mode = WAL");
  if (const std::string now = mode.step() ? mode.text(0) : "unknown"; now != "wal")
    core::fail(Code::io,
               "{}: SQLite keeps no write-ahead log here (journal mode {}), so a run could not be "
               "read while it writes; put the store on a local disk",
               path, printable(now));
}

std::unique_ptr<sweep::Database> open_to_write(const std::string& path, const std::string& place) {
  if (!std::filesystem::exists(place) || !check_header(path)) make_store(path, place);
  auto database = std::make_unique<sweep::Database>(path, place, SQLITE_OPEN_READWRITE);
  (void)try_schema(*database);
  check_content(path, *database);
  database->run("PRAGMA synchronous = NORMAL");
  keep_log(path, *database);
  bring_up_to_date(*database);
  return database;
}

/// The path as an SQLite URI, to which options can be appended.
std::string uri_of(const std::string& place) {
  std::string uri = "file:";
  for (const char c : place) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '-' || c == '_';
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

std::unique_ptr<sweep::Database> open_to_read(const std::string& path, const std::string& place) {
  if (!check_header(path))
    core::fail(Code::input, "{}: is not a store of sweeps: it is empty; give another name", path);
  auto database = std::make_unique<sweep::Database>(path, place, SQLITE_OPEN_READONLY);
  // A file in WAL mode needs other files beside it. If these cannot be created, nobody can be
  // writing the store, and without a log the file is complete.
  const int tried = try_schema(*database);
  std::error_code error;
  const auto log = std::filesystem::file_size(place + "-wal", error);
  if ((tried == SQLITE_CANTOPEN || tried == SQLITE_READONLY) && (error || log == 0))
    database = std::make_unique<sweep::Database>(path, uri_of(place) + "?immutable=1",
                                                 SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
  check_content(path, *database);
  return database;
}

}  // namespace

std::vector<std::string> files_beside_store(const std::string& path) {
  const std::string file = behind_links(path);
  std::vector<std::string> beside;
  for (const char* suffix : {"-wal", "-shm", "-journal", sweep::StoreLock::suffix})
    beside.push_back(file + suffix);
  return beside;
}

struct SweepStore::Impl {
  Impl(std::string name, StoreUse use) : path(std::move(name)) {
    const std::string place = place_of(path);
    if (use == StoreUse::write) {
      if (std::filesystem::exists(place))
        check_header(path);  // create nothing beside another program's file
      lock = std::make_unique<sweep::StoreLock>(path, place);
      database = open_to_write(path, place);
    } else {
      database = open_to_read(path, place);
    }
  }

  ~Impl() {
    if (!lock || !database) return;
    // Merges the log into the file if possible; otherwise the log stays beside it, and
    // nothing is lost.
    sqlite3_busy_timeout(database->handle(), 0);
    database->try_run("PRAGMA journal_mode = DELETE");
  }

  std::string path;
  std::unique_ptr<sweep::StoreLock> lock;  // must outlive the database
  std::unique_ptr<sweep::Database> database;
};

SweepStore::SweepStore(const std::string& path, StoreUse use)
    : impl_(std::make_unique<Impl>(path, use)) {}
SweepStore::~SweepStore() = default;
SweepStore::SweepStore(SweepStore&&) noexcept = default;
SweepStore& SweepStore::operator=(SweepStore&&) noexcept = default;

SweepStore::Impl& SweepStore::inside() const { return core::inside_of(impl_, "a SweepStore"); }
const std::string& SweepStore::path() const { return inside().path; }

void SweepStore::plan(const std::string& sweep, std::span<const SweepPoint> points) {
  sweep::Transaction transaction(*inside().database);
  sweep::Statement forget(*inside().database, "DELETE FROM planned WHERE sweep = ?1");
  forget.bind(1, sweep);
  forget.step();
  sweep::Statement add(*inside().database, "INSERT INTO planned VALUES (?1, ?2, ?3, ?4)");
  add.bind(1, sweep);
  for (std::size_t i = 0; i < points.size(); ++i) {
    add.bind(2, static_cast<std::int64_t>(i));
    add.bind(3, points[i].parameters);
    add.bind(4, points[i].seconds);
    add.step();
    add.reset();
  }
  transaction.commit();
}

void SweepStore::record(const std::string& sweep, std::span<const StoredPoint> points) {
  sweep::Transaction transaction(*inside().database);
  insert_points(*inside().database, sweep, points);
  transaction.commit();
}

std::vector<std::optional<StoredPoint>> SweepStore::look_up(
    const std::string& sweep, std::span<const SweepPoint> points) const {
  const sweep::Transaction one_moment(*inside().database, "BEGIN");
  std::vector<std::optional<StoredPoint>> found(points.size());
  sweep::Statement get(
      *inside().database,
      "SELECT result, error, seconds, version, target, parameters FROM point WHERE sweep = ?1 AND "
      "parameters = ?2");
  get.bind(1, sweep);
  for (std::size_t i = 0; i < points.size(); ++i) {
    get.bind(2, points[i].parameters);
    if (get.step()) found[i] = point_in(get);
    get.reset();
  }
  return found;
}

std::vector<StoredSweep> SweepStore::status() const {
  const sweep::Transaction one_moment(*inside().database, "BEGIN");
  std::map<std::string, StoredSweep> sweeps;
  sweep::Statement grid(
      *inside().database,
      "SELECT planned.sweep, guess, seconds, result IS NULL FROM planned LEFT JOIN point USING "
      "(sweep, parameters)");
  sweep::Statement held(
      *inside().database,
      "SELECT sweep, COUNT(*) FROM point WHERE result IS NOT NULL GROUP BY sweep");
  while (grid.step()) {
    StoredSweep& sweep = sweeps[grid.text(0)];
    const bool known = !grid.is_null(2);
    const bool done = known && grid.whole(3) == 0;
    ++sweep.points;
    if (done) {
      ++sweep.done;
      sweep.done_seconds += grid.seconds(2);
      sweep.done_guess += grid.seconds(1);
    } else {
      sweep.failed += known ? 1 : 0;
      sweep.missing_guess += grid.seconds(1);
    }
  }
  while (held.step()) sweeps[held.text(0)].others = held.whole(1);
  std::vector<StoredSweep> all;
  for (auto& [name, sweep] : sweeps) {
    sweep.sweep = name;
    sweep.others -= sweep.done;
    all.push_back(std::move(sweep));
  }
  return all;
}

}  // namespace tamis::lab
