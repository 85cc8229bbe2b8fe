"""Tables as CSV and as workbooks, read by others."""

import zipfile
from pathlib import Path
from xml.etree import ElementTree

import polars
import pytest

import etherweave
from etherweave.api.inputs import InputError
from etherweave.formats import spreadsheets
from support import command_line

TABLE = polars.DataFrame({"name": ["=1+1", "a"], "time_ns": [1.5, None], "hops": [[1, 2], [3]]})
SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def cells(path: Path, sheet: int = 1) -> list[list[str]]:
    """Values of a sheet; texts are in a part of their own."""
    with zipfile.ZipFile(path) as parts:
        strings = ElementTree.fromstring(parts.read("xl/sharedStrings.xml"))
        texts = ["".join(entry.itertext()) for entry in strings.iter(f"{SHEET}si")]
        root = ElementTree.fromstring(parts.read(f"xl/worksheets/sheet{sheet}.xml"))
    assert not list(root.iter(f"{SHEET}f")), "a formula"
    rows = []
    for row in root.iter(f"{SHEET}row"):
        values = [(cell.get("t"), cell.findtext(f"{SHEET}v") or "") for cell in row]
        rows.append([texts[int(value)] if kind == "s" else value for kind, value in values])
    return rows


def test_formulas_stay_texts_in_both(tmp_path: Path) -> None:
    spreadsheets.write_table(tmp_path / "a.csv", TABLE)
    assert (tmp_path / "a.csv").read_text() == ('name,time_ns,hops\n\'=1+1,1.5,"[1, 2]"\na,,[3]\n')
    spreadsheets.write_table(tmp_path / "a.xlsx", TABLE)
    assert cells(tmp_path / "a.xlsx") == [
        ["name", "time_ns", "hops"],
        ["=1+1", "1.5", "[1, 2]"],
        ["a", "[3]"],
    ]


@pytest.mark.parametrize("name", ["a:b", "'quoted'", "history", "x" * 40, "[1]", "ü"])
def test_a_file_of_any_name_is_a_workbook(name: str, tmp_path: Path) -> None:
    spreadsheets.write_table(tmp_path / f"{name}.xlsx", TABLE)
    assert len(cells(tmp_path / f"{name}.xlsx")) == 3


def test_equal_tables_are_equal_workbooks(tmp_path: Path) -> None:
    for name in ("a", "b"):
        spreadsheets.write_workbook(tmp_path / f"{name}.xlsx", {"t": TABLE, "u": TABLE})
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()


def test_tables_of_too_many_rows_name_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreadsheets, "ROWS_MAX", 1)
    with pytest.raises(InputError, match="t has 2 rows; expected 1, or CSV"):
        spreadsheets.write_workbook(tmp_path / "a.xlsx", {"t": TABLE})
    assert list(tmp_path.iterdir()) == []


def test_every_table_of_a_result_is_a_file_and_a_sheet(tmp_path: Path) -> None:
    job = {"name": "j", "workload": {"osu_latency": {"iterations": 5}}}
    result = etherweave.run({"topology": {"single_switch": {"hosts": 2}}, "job": [job]})
    home = result.save(tmp_path / "result")
    done = command_line.invoke("tables", home, "-o", tmp_path / "csv")
    names = {path.stem for path in home.glob("*.parquet")}
    assert {path.stem for path in (tmp_path / "csv").iterdir()} == names, done.stderr
    for name in names:
        read = polars.read_csv(tmp_path / f"csv/{name}.csv", infer_schema_length=None)
        assert (read.columns, read.height) == (result.columns(name), result.to_polars(name).height)
    command_line.invoke("tables", home, "--form", "xlsx")
    command_line.invoke("tables", home, "-o", tmp_path / "r.XLSX")
    assert cells(tmp_path / "r.XLSX", 1) == cells(home / "tables.xlsx", 1)
    for number, name in enumerate(sorted(names), 1):
        assert cells(home / "tables.xlsx", number)[0] == result.columns(name)
    wrong = command_line.invoke("tables", home, "--only", "iteration", code=2)
    assert "expected one of" in wrong.stderr


def test_a_directory_with_the_name_of_a_file_is_refused(tmp_path: Path) -> None:
    scenario = {"topology": {"single_switch": {"hosts": 2}}, "run": {"end": "1ns"}}
    job = [{"name": "a", "workload": {"osu_latency": {"iterations": 1}}}]
    etherweave.run({**scenario, "job": job}).save(tmp_path / "r")
    done = command_line.invoke("tables", tmp_path / "r", "-o", tmp_path / "r.csv", code=2)
    assert "r.csv: expected a directory, but .csv ends the name of a file" in done.stderr
    assert not (tmp_path / "r.csv").exists()


def test_columns_are_described_without_a_result() -> None:
    printed = command_line.invoke("tables", "--columns", "--only", "flows").stdout
    assert "bytes" in printed
    assert "payload that was acknowledged" in printed
    command_line.invoke("tables", "--columns", "--only", "flow", code=2)
    command_line.invoke("tables", code=2)
