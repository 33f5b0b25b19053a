"""Seeds for stores of sweeps: SQLite files with the schema of docs/sweeps.md, and damaged ones."""

import sqlite3
import struct

from corpus_hash import xxh64

POINT = (
    "CREATE TABLE point(sweep TEXT NOT NULL, parameters TEXT NOT NULL, result TEXT, error TEXT, "
    "seconds REAL NOT NULL, version TEXT NOT NULL, target TEXT NOT NULL, checksum TEXT NOT NULL, "
    "PRIMARY KEY (sweep, parameters), CHECK ((result IS NULL) <> (error IS NULL))) STRICT, WITHOUT ROWID"
)
POINT_1 = POINT.replace("checksum TEXT NOT NULL, ", "")  # the table in version 1
PLANNED = (
    "CREATE TABLE planned(sweep TEXT NOT NULL, place INTEGER NOT NULL, parameters TEXT NOT NULL, "
    "guess REAL NOT NULL, PRIMARY KEY (sweep, place)) STRICT, WITHOUT ROWID"
)
POINTS = (
    ("fig3", '{"n":1}', '{"d_min":2}', None, 0.25, "0.1.0", "avx2"),
    ("fig3", '{"n":2}', None, "it failed", 4.0, "0.1.0", "scalar"),
)
PLAN = """INSERT INTO planned VALUES ('fig3', 0, '{"n":1}', 1.5), ('fig3', 1, '{"n":2}', 2), ('fig3', 2, '{"n":3}', 3)"""


def insert(point, checksum=None):
    """The SQL statement that inserts a point, in the newest version."""

    def part(value):
        if isinstance(value, float):
            return struct.pack("<d", value)
        return b"-" if value is None else f"{len(value.encode())}:{value}".encode()

    return insert_1((*point, checksum or xxh64(b"".join(map(part, point)))))


def insert_1(values):
    quoted = ("NULL" if x is None else str(x) if isinstance(x, float) else f"'{x}'" for x in values)
    return f"INSERT INTO point VALUES ({', '.join(quoted)})"


ROWS = (PLAN, *map(insert, POINTS))
ROWS_1 = (PLAN, *map(insert_1, POINTS))


def store(*more, tables=(PLANNED, POINT), rows=ROWS, header=(), version=2):
    """A store with small pages after further statements; `header` has (offset, bytes) to overwrite."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    for statement in (
        "PRAGMA page_size = 512",
        f"PRAGMA application_id = {0x746D7377}",
        f"PRAGMA user_version = {version}",
        *tables,
        *rows,
        *more,
    ):
        database.execute(statement)
    content = bytearray(database.serialize())
    database.close()
    # The version of SQLite that wrote the file last, made the same everywhere.
    for place, change in ((92, content[24:28] + struct.pack(">I", 3040000)), *header):
        content[place : place + len(change)] = change
    return bytes(content)


def store_seeds():
    whole = store()
    many = [
        insert(("fig3", f'{{"n":{n}}}', "x" * 300, None, 1.0, "0.1.0", "avx2"))
        for n in range(4, 24)
    ]
    yield "valid", whole
    yield "valid-empty", store(rows=())
    yield "valid-many-pages", store(*many)
    yield "valid-free-pages", store(*many, "DELETE FROM point WHERE length(result) = 300")
    yield "valid-log-mode", store(header=[(18, b"\2\2")])
    yield (
        "valid-other-sweep",
        store(
            rows=[PLAN.replace("fig3", "fig4"), *(insert(("fig4", *point[1:])) for point in POINTS)]
        ),
    )
    yield "valid-version-1", store(tables=(PLANNED, POINT_1), rows=ROWS_1, version=1)
    yield "version-1-with-checksums", store(version=1)
    yield "version-2-without-checksums", store(tables=(PLANNED, POINT_1), rows=ROWS_1)
    yield "version-0", store(version=0)
    yield "checksum-wrong", store(rows=(PLAN, insert(POINTS[0], "0123456789abcdef")))
    yield "checksum-blank", store(rows=(PLAN, insert(POINTS[0], " ")))
    yield (
        "checksum-of-another",
        store("""UPDATE point SET result = '{"d_min":3}' WHERE error IS NULL"""),
    )
    yield "nothing", b""
    yield "not-sqlite", b"SQLite format 4\0" + whole[16:]
    yield "truncated-header", whole[:50]
    yield "truncated-page", whole[:600]
    yield "other-program", store("PRAGMA application_id = 7")
    yield "newer", store(version=3)
    yield "trigger", store("CREATE TRIGGER t AFTER INSERT ON point BEGIN DELETE FROM point; END")
    yield "view", store("CREATE VIEW v AS SELECT * FROM point")
    yield "index", store("CREATE INDEX i ON point(seconds)")
    yield "one-table", store(tables=[POINT], rows=ROWS[1:])
    yield "not-strict", store(tables=[PLANNED, POINT.replace("STRICT, ", "")])
    yield "seconds-negative", store("UPDATE point SET seconds = -1")
    yield "seconds-infinite", store("UPDATE point SET seconds = 9e999")
    yield "guess-negative", store("UPDATE planned SET guess = -1")
    yield "page-size", store(header=[(16, b"\x7f\xff")])
    yield "page-count", store(header=[(28, b"\xff\xff\xff\xff")])
    yield "free-list", store(header=[(32, b"\0\0\0\2\0\0\0\1")])
    yield "encoding", store(header=[(56, b"\0\0\0\2")])
    yield "root-page", whole[:512] + bytes(512) + whole[1024:]
    yield "cell-pointer", store(header=[(1024 + 8, b"\xff\xff")])
