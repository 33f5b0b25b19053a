"""Topics without a relevant document are refused, or omitted and listed with --drop-empty."""

import json

import pytest
from conftest import sentence_of, tamis

JUDGED = """
empty 0 a 0
q1 0 a 1
q1 0 b 0
junk 0 c -1
q2 0 b 1
none 0 a 0
q3 0 c 1
"""
DROPPED = ["empty", "junk", "none"]
QUICK = ["--steps", 200]
COMMANDS = {
    "pattern": [],
    "decide": ["--time-limit", 5],
    "realise": ["--dim", 3, *QUICK],
    "frontier": ["--dims", 3, *QUICK],
}


@pytest.fixture
def judged(tmp_path):
    file = tmp_path / "a.qrels"
    file.write_text(JUDGED)
    return file


@pytest.mark.parametrize("command", COMMANDS)
def test_the_refusal_names_the_topic_and_the_option(judged, command):
    sentence = sentence_of(tamis(command, judged, *COMMANDS[command], status=2))
    assert "topic 'empty' has no relevant document, nor have 2 others; " in sentence
    assert "--drop-empty" in sentence and "--drop-empty" in tamis(command, "--help").stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_they_are_dropped_and_named(judged, command):
    args = [command, judged, *COMMANDS[command], "--drop-empty"]
    said = json.loads(tamis(*args, "--json").stdout)
    assert (said["rows"], said["columns"], said["nonzeros"], said["dropped"]) == (3, 3, 3, DROPPED)
    lines = tamis(*args).stdout.splitlines()
    (line,) = [line for line in lines if line.startswith("dropped ")]
    assert line.split(maxsplit=1)[1] == "3 topics without a relevant document: empty, junk, none"
    clean = judged.with_name("clean.qrels")
    clean.write_text(
        "".join(f"{x}\n" for x in JUDGED.splitlines() if not x.startswith(tuple(DROPPED)))
    )
    said = json.loads(tamis(command, clean, *args[2:], "--json").stdout)
    assert said["dropped"] == [] and "\ndropped " not in tamis(command, clean, *args[2:]).stdout


def test_evidence_is_of_the_topics_that_are_left(judged, tmp_path):
    w, r = tmp_path / "w", tmp_path / "r"
    tamis("decide", judged, "--drop-empty", "--out", w, "--refutation", r)
    for evidence in (w, r):
        said = json.loads(
            tamis("verify", judged, evidence, "--weak", "--drop-empty", "--json").stdout
        )
        assert said["holds"] and said["dropped"] == DROPPED
        text = tamis("verify", judged, evidence, "--weak", "--drop-empty").stdout
        assert "\ndropped       3 topics without a relevant document: empty, junk, none\n" in text
        assert "'empty'" in sentence_of(tamis("verify", judged, evidence, "--weak", status=2))


def test_of_many_topics_some_are_named(tmp_path):
    judged = tmp_path / "a.qrels"
    judged.write_text("q 0 a 1\n" + "".join(f"\u202e{i} 0 a 0\n" for i in range(12)))
    text = tamis("pattern", judged, "--drop-empty").stdout
    assert "dropped   12 topics without a relevant document: " in text and "9 and 2 more\n" in text
    assert (
        len(json.loads(tamis("pattern", judged, "--drop-empty", "--json").stdout)["dropped"]) == 12
    )


def test_it_is_refused_where_there_are_no_topics(judged, tmp_path):
    judged.write_text("q1 0 a 0\n")
    assert "no topic has" in sentence_of(tamis("pattern", judged, "--drop-empty", status=2))
    matrix = tmp_path / "a.mtx"
    tamis("pattern", "pairs", "--n", 4, "--out", matrix)
    sentence = sentence_of(tamis("decide", matrix, "--drop-empty", status=2))
    assert sentence == f"{matrix}: is a matrix; --drop-empty leaves topics out of qrels alone"
    sentence = sentence_of(tamis("pattern", "pairs", "--n", 4, "--drop-empty", status=2))
    assert "--drop-empty says nothing about pattern pairs" in sentence
