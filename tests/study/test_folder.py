"""A study is one folder: found by its path, declared without code, with mistakes named."""

import json
import re
from pathlib import Path

import pytest

from etherweave.api.work import Work
from etherweave.report import write_study
from etherweave.study import load_study, load_study_result, read_record, run_study, shipped
from etherweave.study.records import recorded_times, write_record
from etherweave.study.results import StudyResult
from etherweave.study.running import known_times
from support.command_line import invoke

pytestmark = pytest.mark.usefixtures("workers_of_this_process")
SCENARIO = """
[topology.single_switch]
hosts = 2

[[job]]
name = "ping"
workload.osu_latency = { bytes = "8B", iterations = 10 }
placement.hosts = [0, 1]
"""
STUDY = """
title = "A ping, repeated"

[[experiment]]
name = "ping.usual"
scenario = "ping"

[[experiment]]
name = "ping.slow"
scenario = "ping"
overrides = { "switch.latency" = "5us" }

[[metric]]
check = "usual"
experiment = "ping.usual"
table = "iterations"
column = "duration_ns"
where = { job = "ping" }
scale = 0.5e-3

[[metric]]
check = "slow"
experiment = "ping.slow"
table = "iterations"
column = "duration_ns"
scale = 0.5e-3

[[bars]]
name = "latency"
title = "Latency"
axis = "latency [us]"
unit = "us"
checks = ["*"]
bars = [{ label = "usual", check = "usual" }, { label = "slow $1", check = "slow" }]

[[lines]]
name = "iterations"
title = "Iterations"
table = "iterations"
x = "iteration"
y = "duration_ns"
y_axis = "round trip [us]"
y_scale = 1e-3
lines = [{ label = "usual", experiment = "ping.usual" }]
"""
# Through one switch a message takes 1 to 3 us; 5 us more with a slower switch.
EXPECTED = """id,source,published,low,high,unit
usual,Table 1,1.5,1,3,us
slow,Table 1,1.5,1,3,us
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "my-study"
    home.mkdir()
    (home / "ping.toml").write_text(SCENARIO)
    (home / "study.toml").write_text(STUDY)
    (home / "expected.csv").write_text(EXPECTED)
    return home


@pytest.mark.slow
def test_dask_carries_out_the_experiments_of_a_study(folder: Path) -> None:
    local, dask = (
        run_study(folder, folder.parent / where, where=where, processes=1)
        for where in ("local", "dask")
    )
    assert {row.id: row.value for row in dask.checks} == {row.id: row.value for row in local.checks}
    assert len(dask.checks) == 2


@pytest.mark.slow
def test_a_folder_with_a_declared_chart_and_no_code_runs_by_its_path(folder: Path) -> None:
    out = folder.parent / "out"
    done = invoke("study", str(folder), "-o", str(out), "--json", "--threads", "1", code=0)
    checks = {row["id"]: row for row in json.loads(done.stdout)["checks"]}
    assert checks["usual"]["pass"]
    assert not checks["slow"]["pass"]
    assert checks["slow"]["value"] == pytest.approx(checks["usual"]["value"] + 5, abs=0.8)
    page = (out / "report.html").read_text(encoding="utf-8")
    places = [
        page.index(text)
        for text in ("1 of 2 checks fail</h2>", ">Latency</h2>", ">Iterations</h2>")
    ]
    assert places == sorted(places)
    assert (out / "latency.svg").exists()
    assert (out / "latency.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "iterations.svg").exists()
    with pytest.raises(ValueError, match=r"checks\.json: results of a folder; `etherweave study"):
        load_study_result(out)


QUESTION = """
[[questions]]
name = "verdict"
title = "Does it work?"
question = [{ text = "Is it fast?", checks = ["usual"], settings = "", figures = {} }]
"""


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ('["usual"]', '["typo.*"]', "Is it fast?: checks: typo.*: no such id in expected.csv"),
        ("{} }]", '{ slow = "{}" } }]', "Is it fast?: figures: slow: expected an id of its checks"),
        (
            "{} }]",
            '{ usual = "{:d} us" } }]',
            "usual: '{:d} us': Unknown format code 'd' for object of type 'float'; expected {} or",
        ),
        (
            "{} }]",
            '{ usual = "{x} us" } }]',
            "Is it fast?: usual: '{x} us': 'x'; expected {} or {:.1f} for the value",
        ),
        ('"verdict"', '"latency"', "section latency: twice; expected names that differ"),
    ],
)
def test_questions_are_checked_before_anything_runs(
    folder: Path, old: str, new: str, error: str
) -> None:
    (folder / "study.toml").write_text(STUDY + QUESTION)
    load_study(folder)
    (folder / "study.toml").write_text(STUDY + QUESTION.replace(old, new))
    with pytest.raises(ValueError, match=re.escape(error)):
        load_study(folder)


@pytest.mark.usefixtures("undrawn_figures")
def test_failures_are_printed_first_and_passes_on_demand(folder: Path) -> None:
    words = ("study", str(folder), "-o", str(folder.parent / "out"), "--threads", "1")
    short = invoke(*words).stdout
    assert "FAIL" in short
    assert "usual" not in short
    assert "1 of 2 figures pass." in short
    long = invoke(*words, "--all").stdout
    assert long.index("slow") < long.index("usual")


@pytest.mark.usefixtures("undrawn_figures")
def test_a_recorded_run_is_counted_by_the_bounds_of_now(folder: Path) -> None:
    words = ("study", str(folder), "-o", str(folder.parent / "out"), "--threads", "1")
    assert invoke(*words, "--fresh", "--record").exit_code == 0
    record = read_record(folder)
    assert record is not None
    assert [check.is_passed for check in record.result.checks] == [True, False]
    # The ping through a slow switch takes 5 us more than the usual one, which is published as 1.5.
    usual, slow = (check.value for check in record.result.checks)
    assert record.result.error == pytest.approx(((slow / 1.5 - 1) + abs(usual / 1.5 - 1)) / 2)
    assert 0 < record.processor_s < 60
    (folder / "expected.csv").write_text(EXPECTED.replace("slow,Table 1,1.5,1,3", "slow,A,7,5,9"))
    record = read_record(folder)
    assert record is not None and not record.result.failed
    (folder / "record.json").write_text("{}")
    with pytest.raises(ValueError, match=r"record\.json: expected what `etherweave study NAME"):
        read_record(folder)


def test_figures_that_differ_from_the_record_are_named(folder: Path) -> None:
    words = ("study", str(folder), "-o", str(folder.parent / "out"), "--threads", "1")
    assert invoke(*words, "--fresh", "--record").exit_code == 0
    assert "differ from the record" not in invoke(*words).stdout
    record = folder / "record.json"
    facts = json.loads(record.read_text())
    facts["computed"]["slow"] *= 1.001
    record.write_text(json.dumps(facts))
    assert "which another version computed or measured: slow.\n" in invoke(*words).stdout
    record.write_text("<<<<<<<")
    assert "differ from the record" not in invoke(*words, code=0).stdout
    record.unlink()
    done = invoke(*words, "--full", "--fresh", "--record", code=2)
    assert "has no record; expected one of a run without --full first" in done.stderr


def test_a_record_keeps_a_processor_time_of_a_few_milliseconds(folder: Path) -> None:
    # Workers that are warm, as those of this process, take 10 ms for a ping.
    write_record(StudyResult(load_study(folder), [], folder, taken_s={"ping.usual": 0.012}), 0.012)
    assert recorded_times(folder) == {"ping.usual": 0.012}


def test_a_full_run_adds_its_times_to_a_record(folder: Path) -> None:
    study = load_study(folder)
    times = {"ping.usual": 2.0, "ping.slow": 6.0}
    full = StudyResult(study, [], folder, full=True, taken_s=times)
    with pytest.raises(ValueError, match=r"record\.json: .* record the study without --full first"):
        write_record(full, 8.0)
    write_record(StudyResult(study, [], folder, taken_s={"ping.usual": 0.5}), 0.5)
    write_record(full, 4.0)
    write_record(StudyResult(study, [], folder, taken_s={"ping.usual": 0.25}), 0.25)
    assert recorded_times(folder) == {"ping.usual": 0.25}
    # Workers on other machines took 4 s more than this process has seen.
    assert recorded_times(folder, full=True) == times
    assert known_times(study, study.experiments(True), full=True) == times


def test_a_time_of_a_full_experiment_that_changes_counts_no_longer(folder: Path) -> None:
    times = {"ping.usual": 2.0, "ping.slow": 6.0}

    def known() -> dict[str, float]:
        study = load_study(folder)
        return known_times(study, study.experiments(True), full=True)

    write_record(StudyResult(load_study(folder), [], folder, taken_s={"ping.slow": 0.5}), 0.5)
    write_record(StudyResult(load_study(folder), [], folder, full=True, taken_s=times), 8.0)
    scenario, study = folder / "ping.toml", folder / "study.toml"
    scenario.write_text(f"# A comment.\n{scenario.read_text()}")
    assert known() == times
    study.write_text(study.read_text().replace('"5us"', '"6us"'))
    # As long as the shortened one, which is the same now.
    assert known() == {"ping.usual": 2.0, "ping.slow": 0.5}
    scenario.write_text(scenario.read_text().replace("iterations = 10", "iterations = 20"))
    assert known() == {"ping.slow": 0.5}


def test_what_takes_longest_begins_first(folder: Path) -> None:
    begun = list[str]()

    def note(work: Work) -> None:
        begun.append(work.last)

    for slow_s, order in ((2.0, ["ping.slow", "ping.usual"]), (0.5, ["ping.usual", "ping.slow"])):
        times = {"ping.usual": 1.0, "ping.slow": slow_s}
        write_record(StudyResult(load_study(folder), [], folder, taken_s=times), 1.0 + slow_s)
        begun.clear()
        run_study(folder, folder.parent / "out", fresh=True, processes=1, on_progress=note)
        assert list(dict.fromkeys(filter(None, begun))) == order


@pytest.mark.parametrize("more", [[], ["--fresh", "--only", "ping.slow"]])
def test_only_a_complete_fresh_run_is_recorded(folder: Path, more: list[str]) -> None:
    done = invoke("study", str(folder), "--record", *more, code=2)
    assert done.stderr == "--record: expected with --fresh, without --only\n"


def test_studies_are_listed_with_the_figures_that_pass() -> None:
    studies = json.loads(invoke("study", "--json").stdout)
    assert [row["study"] for row in studies] == sorted(shipped())
    for row in studies:
        assert 0 < row["passed"] <= row["figures"]
        expected = {check["id"] for check in load_study(row["study"]).expected()}
        record = read_record(shipped()[row["study"]])
        assert record is not None
        assert {check.id for check in record.result.checks} <= expected
    lines = invoke("study").stdout.splitlines()
    (line,) = [line for line in lines if line.startswith("  osu-references  ")]
    row = next(row for row in studies if row["study"] == "osu-references")
    assert f"{row['passed']} of {row['figures']}" in line
    assert f"{row['error']:.1%}" in line


@pytest.mark.long
def test_a_record_is_what_the_study_computes(tmp_path: Path) -> None:
    record = read_record(shipped()["osu-references"])
    done = run_study("osu-references", tmp_path)
    assert record is not None
    now = {check.id: check.value for check in done.checks}
    assert now == pytest.approx({check.id: check.value for check in record.result.checks})


@pytest.mark.usefixtures("undrawn_figures")
@pytest.mark.parametrize(
    ("marks", "counts"),
    [
        (
            ("calibration", "repeats usual"),
            "of 2 figures pass, 0 of 0 that are neither calibrated nor repeated.",
        ),
        (
            ("calibration", "weaker prediction"),
            "neither calibrated nor repeated, of which 1 are weaker predictions",
        ),
    ],
)
def test_rows_are_counted_apart_by_their_marks(
    folder: Path, marks: tuple[str, str], counts: str
) -> None:
    first, second = (f"Table 1; {mark},1.5,1,3,us" for mark in marks)
    rows = f"usual,{first}\nslow,{second}\n"
    (folder / "expected.csv").write_text(f"id,source,published,low,high,unit\n{rows}")
    out = folder.parent / "out"
    text = invoke("study", str(folder), "-o", str(out), "--threads", "1", "--all").stdout
    assert counts in text


@pytest.mark.usefixtures("undrawn_figures")
def test_a_row_with_another_basis_is_counted_apart_from_published_figures(folder: Path) -> None:
    rows = "usual,Table 1,1.5,1,3,us,,\nslow,A simulator,,1,3,us,SIM,1.5\n"
    (folder / "expected.csv").write_text(
        f"id,source,published,low,high,unit,basis,reference\n{rows}"
    )
    out = folder.parent / "out"
    text = invoke("study", str(folder), "-o", str(out), "--threads", "1", "--all").stdout
    assert "1 of 1 figures pass, and 0 of 1 that the publication does not have." in text
    assert "SIM: 1.5 us" in text
    assert (out / "report.html").read_text(encoding="utf-8").count("SIM: 1.5 us") == 2


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("slow,A simulator,1.5,1,3,us,SIM,", "line 3: published 1.5 on the basis of 'SIM'"),
        ("slow,A simulator,,1,3,us,,1.5", "line 3: reference 1.5 without a basis"),
        ("slow,A simulator,,1,3,us,SIM,many", "line 3: reference 'many': expected a number"),
    ],
)
def test_a_figure_of_another_basis_is_rejected(folder: Path, row: str, reason: str) -> None:
    head = "id,source,published,low,high,unit,basis,reference"
    (folder / "expected.csv").write_text(f"{head}\nusual,Table 1,1.5,1,3,us,,\n{row}\n")
    with pytest.raises(ValueError, match=re.escape(reason)):
        load_study(folder)


@pytest.mark.usefixtures("quick_figures")
def test_a_line_joins_all_experiments_of_its_pattern_and_a_table_lists_them(folder: Path) -> None:
    with (folder / "study.toml").open("a") as declared:
        declared.write(
            """
[[lines]]
name = "both"
title = "Both pings"
table = "iterations"
x = "duration_ns"
y = "duration_ns"
is_logarithmic = true
x_is_logarithmic = true
guides = [{ axis = "x", at = 2000, label = "2 us" }, { axis = "y", at = 3000, label = "3 us" }]
lines = [{ experiment = "ping.*", label = "pings" }, { experiment = "ping.slow", is_open = true }]
columns = [
    { head = "rank", column = "rank" },
    { head = "time [ns]", column = "duration_ns", form = ",.0f" },
]
"""
        )
    out = folder.parent / "out"
    done = run_study(folder, out, processes=1)
    page = write_study(done).read_text(encoding="utf-8")
    assert ">Both pings</h2>" in page
    rows = [
        done.result(f"ping.{name}").values("iterations", "duration_ns")
        for name in ("usual", "slow")
    ]
    listed = [f"{time:,.0f}" for times in rows for time in times]
    assert all(f">{time}</td>" in page for time in listed)
    (folder / "study.toml").write_text(
        (folder / "study.toml").read_text().replace("ping.*", "pong.*")
    )
    page = write_study(run_study(folder, out, processes=1)).read_text(encoding="utf-8")
    assert "both: no experiment pong.*" in page


@pytest.mark.usefixtures("undrawn_figures")
def test_code_beside_the_declaration_adds_experiments_metrics_and_sections(folder: Path) -> None:
    (folder / "values.py").write_text("VALUE = 2.0\n")
    (folder / "study.py").write_text(
        "from .values import VALUE\n\n\ndef experiments(full):\n    return []\n\n\n"
        "def metrics():\n    return {'constant': lambda results: VALUE}\n"
    )
    (folder / "report.py").write_text(
        "from etherweave.report.section import Section\n\n\n"
        "def words(study):\n    value = study.value('constant')\n"
        "    return Section('words', f'Value {value:g}')\n"
    )
    with (folder / "expected.csv").open("a") as rows:
        rows.write("constant,Table 2,2,2,2,us\n")
    text = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text('sections = ["words", "latency"]\n' + text)
    study = run_study(folder, folder.parent / "out", processes=1)
    assert [check.id for check in study.passed] == ["usual", "constant"]
    page = write_study(study).read_text(encoding="utf-8")
    assert page.index("<h2>Value 2</h2>") < page.index("<h2>Latency</h2>")
    assert "<h2>Iterations" not in page, "only the sections that are named"
    (folder / "study.toml").write_text('opening = ["words"]\nsections = ["latency"]\n' + text)
    study = run_study(folder, folder.parent / "out", processes=1)
    page = write_study(study).read_text(encoding="utf-8")
    headings = ("<h2>Value 2</h2>", "against published</h2>", "<h2>Latency</h2>")
    places = [page.index(heading) for heading in headings]
    assert places == sorted(places), "the opening is before the checks"


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("study.toml", "title =", "titel =", "unknown key 'titel'; nearest: title"),
        ("study.toml", 'column = "duration_ns"', "", "either a key or a column"),
        ("study.toml", 'scenario = "ping"', 'scenario = "ping"\nkind = "walk"', "expected a kind"),
        ("study.toml", "scale = 0.5e-3", 'statistic = "mode"', "expected a statistic"),
        ("study.toml", "[[bars]]", "[[bars", "expected TOML"),
        ("expected.csv", "usual,Table 1,1.5", "usual,Table 1,about", "published 'about'"),
        ("expected.csv", "usual,", "unusual,", "no metric of 'unusual'"),
    ],
)
def test_a_mistake_in_a_folder_names_the_file_and_the_key(
    folder: Path, file: str, old: str, new: str, message: str
) -> None:
    path = folder / file
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(ValueError, match=message) as error:
        load_study(folder)
    assert str(error.value).startswith(str(path.resolve()))


def test_a_name_is_known_or_a_path() -> None:
    with pytest.raises(
        KeyError, match="no study 'x'; known: datacenter-transports, exascale-2017, experts, hot-"
    ):
        load_study("x")
    with pytest.raises(ValueError, match=r"no study\.toml; expected the folder of a study"):
        load_study("./studies")
    assert re.search(r"sandia-2020: An Evaluation of Ethernet Performance", invoke("study").stdout)
    about = invoke("study", "stackhpc-2019", "--about").stdout
    assert "8 B around 30 random rings" in about
    assert invoke("study", "stackhpc", "--about", code=2).stdout == ""
