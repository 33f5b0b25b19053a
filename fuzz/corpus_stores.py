"""Seeds for stores of sweeps: SQLite files with the schema of docs/sweeps.md, and spoilt ones."""

import sqlite3
import struct

POINT = (
    "CREATE TABLE point(sweep TEXT NOT NULL, parameters TEXT NOT NULL, result TEXT, error TEXT, "
    "seconds REAL NOT NULL, version TEXT NOT NULL, target TEXT NOT NULL, "
    "PRIMARY KEY (sweep, parameters), CHECK ((result IS NULL) <> (error IS NULL))) STRICT, WITHOUT ROWID"
)
PLANNED = (
    "CREATE TABLE planned(sweep TEXT NOT NULL, place INTEGER NOT NULL, parameters TEXT NOT NULL, "
    "guess REAL NOT NULL, PRIMARY KEY (sweep, place)) STRICT, WITHOUT ROWID"
)
ROWS = (
    """INSERT INTO planned VALUES ('fig3', 0, '{"n":1}', 1.5), ('fig3', 1, '{"n":2}', 2), ('fig3', 2, '{"n":3}', 3)""",
    """INSERT INTO point VALUES ('fig3', '{"n":1}', '{"d_min":2}', NULL, 0.25, '0.1.0', 'avx2')""",
    """INSERT INTO point VALUES ('fig3', '{"n":2}', NULL, 'it failed', 4, '0.1.0', 'scalar')""",
)


def store(*more, tables=(PLANNED, POINT), rows=ROWS, header=()):
    """A store of small pages, with further statements; `header` is (place, bytes) to be put in."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    for statement in (
        "PRAGMA page_size = 512",
        f"PRAGMA application_id = {0x746D7377}",
        "PRAGMA user_version = 1",
        *tables,
        *rows,
        *more,
    ):
        database.execute(statement)
    content = bytearray(database.serialize())
    database.close()
    # Which SQLite wrote it last: the same for every one.
    for place, change in ((92, content[24:28] + struct.pack(">I", 3040000)), *header):
        content[place : place + len(change)] = change
    return bytes(content)


def store_seeds():
    whole = store()
    many = [
        f"""INSERT INTO point VALUES ('fig3', '{{"n":{n}}}', '{"x" * 300}', NULL, 1, '0.1.0', 'avx2')"""
        for n in range(4, 24)
    ]
    yield "valid", whole
    yield "valid-empty", store(rows=())
    yield "valid-many-pages", store(*many)
    yield "valid-free-pages", store(*many, "DELETE FROM point WHERE length(result) = 300")
    yield "valid-log-mode", store(header=[(18, b"\2\2")])
    yield "valid-other-sweep", store(rows=[row.replace("fig3", "fig4") for row in ROWS])
    yield "nothing", b""
    yield "not-sqlite", b"SQLite format 4\0" + whole[16:]
    yield "truncated-header", whole[:50]
    yield "truncated-page", whole[:600]
    yield "other-program", store("PRAGMA application_id = 7")
    yield "newer", store("PRAGMA user_version = 2")
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
