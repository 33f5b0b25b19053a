// The store: results are read back as stored, and foreign files are refused and left unchanged.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include <tamis/error.h>

#include "lab/sweep/database.h"
#include "unit/lab/sweep/sweep_support.h"

namespace tamis {
namespace {

std::string bytes_of(const std::string& path) {
  std::ostringstream all;
  all << std::ifstream(path, std::ios::binary).rdbuf();
  return all.str();
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

lab::StoredPoint done_point(const std::string& parameters, const std::string& result,
                            double seconds = 1) {
  return {parameters, result, "", seconds, "1.2.3", "scalar"};
}

/// A store of one sweep with points 0 … 2, of which 0 is done and 1 failed.
std::string small_store(const Folder& folder) {
  const std::string path = folder / "s.sqlite";
  lab::SweepStore store(path, lab::StoreUse::write);
  const auto points = made_up_points(3);
  store.plan("fig", points);
  const std::vector<lab::StoredPoint> known{
      done_point(points[0].parameters, "{}", 2.5),
      {points[1].parameters, {}, "it did not work", 0.5, "1.2.3", "scalar"}};
  store.record("fig", known);
  return path;
}

/// The message with which opening fails; the file must stay unchanged.
std::string refusal(const std::string& path, lab::StoreUse use, Code expected = Code::input) {
  const std::string before = bytes_of(path);
  std::string sentence = "opened";
  try {
    const lab::SweepStore store(path, use);
    (void)store.status();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), expected) << error.what();
    sentence = error.what();
  }
  EXPECT_EQ(bytes_of(path), before);
  EXPECT_NE(sentence.find(path), std::string::npos) << sentence;
  return sentence;
}

void expect_refused(const std::string& path, const std::string& part) {
  for (const lab::StoreUse use : {lab::StoreUse::read, lab::StoreUse::write}) {
    const std::string sentence = refusal(path, use);
    EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
  }
  EXPECT_FALSE(std::filesystem::exists(path + ".lock"));
}

TEST(SweepStore, GivesBackEveryBitOfWhatWasRecorded) {
  const Folder folder;
  lab::SweepStore store(folder / "s", lab::StoreUse::write);
  int cases = 0;
  EXPECT_TRUE(rc::check("what is recorded is found", [&] {
    const auto texts = *rc::gen::container<std::vector<std::string>>(
        4, rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '~')));
    const double seconds = *rc::gen::inRange(0, 1 << 30) / 1024.0;
    const bool failed = *rc::gen::arbitrary<bool>();
    const lab::StoredPoint put{texts[0],
                               failed ? std::nullopt : std::optional(texts[1]),
                               failed ? texts[1] : "",
                               seconds,
                               texts[2],
                               texts[3]};
    const std::string sweep = "sweep " + std::to_string(cases++);
    store.record(sweep, std::vector{put});
    const std::vector<lab::SweepPoint> points{{texts[0], 1}, {texts[0] + "!", 1}};
    const lab::SweepStore reader(folder / "s", lab::StoreUse::read);
    const auto found = reader.look_up(sweep, points);
    RC_ASSERT(found[0].has_value() && !found[1].has_value());
    RC_ASSERT(found[0]->result == put.result && found[0]->error == put.error);
    RC_ASSERT(found[0]->seconds == seconds && found[0]->version == texts[2] &&
              found[0]->target == texts[3]);
    RC_ASSERT(!reader.look_up("another", points)[0]);
  }));
}

TEST(SweepStore, CountsWhatIsDoneFailedAndOfOtherGrids) {
  const Folder folder;
  const std::string path = small_store(folder);
  lab::SweepStore(path, lab::StoreUse::write)
      .record("fig", std::vector{done_point("{\"i\":99}", "{}")});
  const auto status = lab::SweepStore(path, lab::StoreUse::read).status();
  ASSERT_EQ(status.size(), 1U);
  EXPECT_EQ(status[0].sweep, "fig");
  EXPECT_EQ(status[0].points, 3);
  EXPECT_EQ(status[0].done, 1);
  EXPECT_EQ(status[0].failed, 1);
  EXPECT_EQ(status[0].others, 1);
  EXPECT_EQ(status[0].done_seconds, 2.5);
  const auto points = made_up_points(3);
  EXPECT_EQ(status[0].done_guess, points[0].seconds);
  EXPECT_EQ(status[0].missing_guess, points[1].seconds + points[2].seconds);
}

TEST(SweepStore, KeepsTheLastGridAndTheLastWordOnAPoint) {
  const Folder folder;
  const std::string path = small_store(folder);
  const auto points = made_up_points(2);
  {
    lab::SweepStore store(path, lab::StoreUse::write);
    store.plan("fig", points);
    store.record("fig", std::vector{done_point(points[1].parameters, "{}")});
  }
  const auto status = lab::SweepStore(path, lab::StoreUse::read).status();
  EXPECT_EQ(status[0].points, 2);
  EXPECT_EQ(status[0].done, 2);
  EXPECT_EQ(status[0].failed, 0);
}

TEST(SweepStore, StandsAloneOnceItIsClosed) {
  const Folder folder;
  small_store(folder);
  for (const char* beside : {"-wal", "-shm", "-journal", ".lock"})
    EXPECT_FALSE(std::filesystem::exists(folder / "s.sqlite" + beside)) << beside;
}

TEST(SweepStore, TellsASecondWriterWhoWritesAndLetsReadersIn) {
  const Folder folder;
  const std::string path = small_store(folder);
  const lab::SweepStore writer(path, lab::StoreUse::write);
  try {
    const lab::SweepStore second(path, lab::StoreUse::write);
    FAIL() << "two writers";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::io);
    EXPECT_NE(
        std::string(error.what()).find("is being written by process " + std::to_string(getpid())),
        std::string::npos)
        << error.what();
  }
  EXPECT_EQ(lab::SweepStore(path, lab::StoreUse::read).status()[0].done, 1);
}

TEST(SweepStore, IsOneUnderAllItsNames) {
  const Folder folder;
  const std::string path = small_store(folder);
  std::filesystem::create_symlink(path, folder / "link");
  const lab::SweepStore writer(folder / "link", lab::StoreUse::write);
  EXPECT_THROW(lab::SweepStore(path, lab::StoreUse::write), Error);
}

TEST(SweepStore, IsOneUnderALinkThatLedNowhere) {
  const Folder folder;
  std::filesystem::create_symlink("s.sqlite", folder / "link");
  std::filesystem::create_symlink("link", folder / "link to it");
  const lab::SweepStore writer(folder / "link to it", lab::StoreUse::write);
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_TRUE(std::filesystem::exists(folder / "s.sqlite.lock"));
  for (const char* name : {"s.sqlite", "link", "link to it"})
    EXPECT_NE(refusal(folder / name, lab::StoreUse::write, Code::io).find("is being written"),
              std::string::npos);
}

TEST(SweepStore, IsNotMadeBesideTheLogOfAnEarlierOne) {
  const Folder folder;
  const std::string path = folder / "new";
  {
    lab::SweepStore killed(folder / "old", lab::StoreUse::write);
    killed.record("fig", std::vector{done_point("{}", "{}")});
    std::filesystem::copy(folder / "old-wal", path + "-wal");
  }
  const std::string log = bytes_of(path + "-wal");
  ASSERT_FALSE(log.empty());
  EXPECT_NE(refusal(path, lab::StoreUse::write, Code::usage).find(path + "-wal of an earlier one"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(bytes_of(path + "-wal"), log);
  std::filesystem::remove(path + "-wal");
  write_bytes(path + "-journal", "x");
  EXPECT_NE(refusal(path, lab::StoreUse::write, Code::usage).find(path + "-journal"),
            std::string::npos);
  write_bytes(path + "-journal", "");  // an empty journal has no effect
  EXPECT_TRUE(lab::SweepStore(path, lab::StoreUse::write).status().empty());
}

/// Makes SQLite run without shared memory, which a log needs, for as long as the object lives.
class WithoutLogs {
 public:
  WithoutLogs() { sqlite3_vfs_register(sqlite3_vfs_find("unix-none"), 1); }
  ~WithoutLogs() { sqlite3_vfs_register(sqlite3_vfs_find("unix"), 1); }
  WithoutLogs(const WithoutLogs&) = delete;
  WithoutLogs& operator=(const WithoutLogs&) = delete;
};

TEST(SweepStore, IsNotWrittenWhereSqliteKeepsNoLog) {
  const Folder folder;
  const std::string path = small_store(folder);
  {
    const WithoutLogs here;
    EXPECT_NE(refusal(path, lab::StoreUse::write, Code::io).find("no write-ahead log here"),
              std::string::npos);
    EXPECT_EQ(lab::SweepStore(path, lab::StoreUse::read).status()[0].done, 1);
  }
  EXPECT_NO_THROW(lab::SweepStore(path, lab::StoreUse::write));
}

TEST(SweepStore, TakesTextsUpToALimitAndNamesIt) {
  const Folder folder;
  lab::SweepStore store(folder / "s", lab::StoreUse::write);
  const std::string longest(lab::sweep::most_text, 'x');
  const lab::StoredPoint full{longest, longest, "", 1, longest, longest};
  store.record(longest, std::vector{full});
  const auto found = store.look_up(longest, std::vector<lab::SweepPoint>{{longest, 1}});
  ASSERT_TRUE(found[0]);
  EXPECT_TRUE(found[0]->result == longest && found[0]->version == longest &&
              found[0]->target == longest);
  try {
    store.plan("fig", std::vector<lab::SweepPoint>{{longest + "x", 1}});
    FAIL() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::usage);
    EXPECT_NE(std::string(error.what()).find("longer than a store takes; 4194304"),
              std::string::npos)
        << error.what();
  }
}

TEST(SweepStore, LeavesAFileThatOnlyLooksLikeItsLock) {
  const Folder folder;
  const std::string path = small_store(folder);
  write_bytes(path + ".lock", "my notes\n");
  EXPECT_NE(refusal(path, lab::StoreUse::write, Code::usage).find("of something else"),
            std::string::npos);
  EXPECT_EQ(bytes_of(path + ".lock"), "my notes\n");
  write_bytes(path + ".lock", "123456\n");  // left by a process that was killed
  EXPECT_NO_THROW(lab::SweepStore(path, lab::StoreUse::write));
}

TEST(SweepStore, TakesBackNothingOfARecordThatFails) {
  const Folder folder;
  const std::string path = small_store(folder);
  lab::SweepStore store(path, lab::StoreUse::write);
  const std::vector<lab::StoredPoint> both{
      done_point("{\"i\":5}", "{}"),
      done_point("{\"i\":6}", std::string(lab::sweep::most_text + 1, ' '))};
  EXPECT_THROW(store.record("fig", both), Error);
  EXPECT_EQ(store.status()[0].others, 0);
  store.record("fig", std::span(both).first(1));
  EXPECT_EQ(store.status()[0].others, 1);
}

TEST(SweepStore, RefusesWhatIsNoStoreAndLeavesItAsItIs) {
  const Folder folder;
  const std::string text = folder / "text";
  write_bytes(text,
              "a letter to a friend, longer than the header of a database would be; "
              "and it goes on for a while, because headers have a hundred bytes\n");
  expect_refused(text, "no SQLite database");
  const std::string other = folder / "other";
  run_sql(other, "CREATE TABLE t(x)");
  expect_refused(other, "of another program");
  const std::string tiny = folder / "tiny";
  write_bytes(tiny, bytes_of(other).substr(0, 50));
  expect_refused(tiny, "damaged");
  EXPECT_NE(refusal(folder / "none", lab::StoreUse::read).find("none"), std::string::npos);
  write_bytes(folder / "empty", "");
  EXPECT_NE(refusal(folder / "empty", lab::StoreUse::read).find("it is empty"), std::string::npos);
  EXPECT_NO_THROW(lab::SweepStore(folder / "empty", lab::StoreUse::write));
}

TEST(SweepStore, RefusesATamperedSchema) {
  for (const char* sql : {
           "CREATE TRIGGER t AFTER INSERT ON point BEGIN DELETE FROM point; END",
           "CREATE VIEW v AS SELECT * FROM point",
           "CREATE INDEX i ON point(seconds)",
           "CREATE TABLE more(x)",
           "DROP TABLE planned",
           "ALTER TABLE point ADD COLUMN more TEXT",
           "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'seconds "
           "REAL', 'seconds ANY') WHERE name = 'point'",
       }) {
    SCOPED_TRACE(sql);
    const Folder folder;
    const std::string path = small_store(folder);
    run_sql(path, sql);
    expect_refused(path, "its tables are not those of a store");
  }
}

TEST(SweepStore, RefusesValuesOfTheWrongType) {
  const Folder folder;
  const std::string path = small_store(folder);
  // As a forger would, the test makes the table non-strict, stores a blob and makes
  // it strict again.
  const std::string schema = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = ";
  run_sql(path, schema + "replace(sql, ' STRICT, ', ' ')");
  run_sql(path, "UPDATE point SET result = x'00ff' WHERE error IS NULL");
  run_sql(path, schema + "replace(sql, ') WITHOUT', ') STRICT, WITHOUT')");
  expect_refused(path, "is damaged");
}

TEST(SweepStore, RefusesANewerVersion) {
  const Folder folder;
  const std::string path = small_store(folder);
  run_sql(path, "PRAGMA user_version = 3");
  expect_refused(path, "of version 3, made by a newer tamis");
}

TEST(SweepStore, NamesAPointThatIsNotWhatWasWritten) {
  for (const char* sql : {"UPDATE point SET result = '{\"d\":7}' WHERE error IS NULL",
                          "UPDATE point SET error = 'another' WHERE error IS NOT NULL",
                          "UPDATE point SET seconds = seconds + 1 WHERE error IS NULL",
                          "UPDATE point SET version = '9', target = 'avx2' WHERE error IS NULL",
                          "UPDATE point SET parameters = '{\"i\":77}' WHERE error IS NULL",
                          "UPDATE point SET sweep = 'gif' WHERE error IS NULL",
                          "UPDATE point SET checksum = '0123456789abcdef' WHERE error IS NULL"}) {
    SCOPED_TRACE(sql);
    const Folder folder;
    const std::string path = small_store(folder);
    run_sql(path, sql);
    expect_refused(path, "is damaged: it does not have the checksum");
    const std::string sentence = refusal(path, lab::StoreUse::read);
    // The remedy that the message gives works.
    const std::size_t from = sentence.find("DELETE");
    run_sql(path, sentence.substr(from, sentence.find(')', from) - from).c_str());
    EXPECT_EQ(lab::SweepStore(path, lab::StoreUse::read).status()[0].points, 3);
  }
}

/// A store as tamis 0.1 wrote it.
void make_version_1(const std::string& path) {
  run_sql(
      path,
      "CREATE TEMP TABLE held AS SELECT * FROM point; DROP TABLE point; CREATE TABLE point(sweep "
      "TEXT NOT NULL, parameters TEXT NOT NULL, result TEXT, error TEXT, seconds REAL NOT NULL, "
      "version TEXT NOT NULL, target TEXT NOT NULL, PRIMARY KEY (sweep, parameters), CHECK "
      "((result IS NULL) <> (error IS NULL))) STRICT, WITHOUT ROWID; INSERT INTO point SELECT "
      "sweep, parameters, result, error, seconds, version, target FROM held; PRAGMA user_version = "
      "1");
}

TEST(SweepStore, OfVersionOneIsReadAsItIsAndGetsChecksumsWhenItIsWritten) {
  const Folder folder;
  const std::string path = small_store(folder);
  make_version_1(path);
  const auto points = made_up_points(3);
  const std::string before = bytes_of(path);
  const auto expect_the_points = [&] {
    const lab::SweepStore store(path, lab::StoreUse::read);
    const auto found = store.look_up("fig", points);
    EXPECT_EQ(found[0]->result, "{}");
    EXPECT_EQ(found[0]->seconds, 2.5);
    EXPECT_EQ(found[1]->error, "it did not work");
    EXPECT_FALSE(found[2].has_value());
    EXPECT_EQ(store.status()[0].done, 1);
  };
  expect_the_points();
  EXPECT_EQ(bytes_of(path), before);
  lab::SweepStore(path, lab::StoreUse::write)
      .record("fig", std::vector{done_point(points[2].parameters, "{}")});
  run_sql(path, "UPDATE point SET seconds = 99 WHERE seconds = 1");
  EXPECT_NE(refusal(path, lab::StoreUse::read).find("checksum"), std::string::npos);
  run_sql(path, "DELETE FROM point WHERE seconds = 99");
  expect_the_points();
}

TEST(SweepStore, ThePublishedOneOpensAndStaysAsItIs) {
  const std::string path = TAMIS_DATA_DIR "/../docs/results/sweeps/sweeps.sqlite";
  const std::string before = bytes_of(path);
  EXPECT_FALSE(lab::SweepStore(path, lab::StoreUse::read).status().empty());
  EXPECT_EQ(bytes_of(path), before);
}

TEST(SweepStore, RefusesTextThatIsTooLongAndTimesThatAreNone) {
  for (const char* sql :
       {"UPDATE point SET result = CAST(zeroblob(5000000) AS TEXT) WHERE error IS NULL",
        "UPDATE point SET seconds = -1", "UPDATE point SET seconds = 9e999"}) {
    SCOPED_TRACE(sql);
    const Folder folder;
    const std::string path = small_store(folder);
    run_sql(path, sql);
    try {
      (void)lab::SweepStore(path, lab::StoreUse::read).look_up("fig", made_up_points(3));
      FAIL() << "taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::input) << error.what();
      EXPECT_NE(std::string(error.what()).find("damaged"), std::string::npos) << error.what();
    }
  }
}

/// Whatever was done to a file, opening it for reading and for writing must either work or fail
/// with one of our errors. Returns what happens instead, or "".
std::string wrong_about(const std::string& path, const std::string& bytes) {
  std::string wrong;
  for (const lab::StoreUse use : {lab::StoreUse::read, lab::StoreUse::write}) {
    write_bytes(path, bytes);
    try {
      lab::SweepStore store(path, use);
      (void)store.status();
      (void)store.look_up("fig", made_up_points(3));
      if (use == lab::StoreUse::write) store.record("fig", std::vector{done_point("{}", "{}")});
    } catch (const Error& error) {
      if (error.code() != Code::input && error.code() != Code::io) wrong = error.what();
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    for (const char* beside : {"-wal", "-shm", "-journal"}) std::filesystem::remove(path + beside);
  }
  return wrong;
}

TEST(SweepStore, OfDamagedBytesIsReadOrRefused) {
  const Folder folder;
  const std::string whole = bytes_of(small_store(folder));
  EXPECT_TRUE(rc::check("read or refused", [&] {
    std::string bytes = whole;
    const int changes = *rc::gen::inRange(1, 20);
    for (int i = 0; i < changes; ++i) {
      const auto place = *rc::gen::inRange<std::size_t>(0, bytes.size());
      bytes[place] = static_cast<char>(*rc::gen::inRange(0, 256));
    }
    if (*rc::gen::inRange(0, 4) == 0) bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size()));
    RC_ASSERT(wrong_about(folder / "damaged", bytes) == "");
  }));
}

TEST(SweepStore, WithAnyByteOfItsHeaderChangedIsReadOrRefused) {
  const Folder folder;
  const std::string whole = bytes_of(small_store(folder));
  for (std::size_t place = 0; place < 108; ++place)  // headers of file and first page
    for (const int value : {0, 1, 2, 5, 127, 128, 255}) {
      std::string bytes = whole;
      bytes[place] = static_cast<char>(value);
      EXPECT_EQ(wrong_about(folder / "damaged", bytes), "") << "byte " << place << " is " << value;
    }
}

TEST(SweepStore, RefusesToKeepTimesThatAreNone) {
  const Folder folder;
  lab::SweepStore store(folder / "s", lab::StoreUse::write);
  for (const double seconds : {std::nan(""), HUGE_VAL}) try {
      store.record("fig", std::vector{done_point("{}", "{}", seconds)});
      ADD_FAILURE() << "kept";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::usage) << error.what();
    }
  EXPECT_TRUE(store.status().empty());
}

TEST(SweepStore, NamesThatMeanSomethingToSqliteAreFilesAllTheSame) {
  const Folder folder;
  for (const char* name : {":memory:", "file:x?mode=memory", "a b%20c#d?e"}) {
    const std::string path = folder / name;
    lab::SweepStore(path, lab::StoreUse::write).record("fig", std::vector{done_point("{}", "{}")});
    EXPECT_TRUE(std::filesystem::is_regular_file(path)) << name;
    EXPECT_EQ(lab::SweepStore(path, lab::StoreUse::read).status()[0].others, 1) << name;
  }
}

TEST(SweepStore, NeedsAFolderAndAName) {
  const Folder folder;
  EXPECT_THROW(lab::SweepStore("", lab::StoreUse::write), Error);
  EXPECT_THROW(lab::SweepStore(folder / "no/such/folder", lab::StoreUse::write), Error);
  EXPECT_THROW(lab::SweepStore(folder / ".", lab::StoreUse::write), Error);
}

}  // namespace
}  // namespace tamis
