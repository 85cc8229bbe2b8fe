"""The verb ``control lint``: its inputs, forms of findings and exit codes."""

import json
from functools import partial
from pathlib import Path

import pytest

from etherweave.control import lint
from etherweave.control.qos.derive import ExportOptions, policy
from etherweave.control.qos.nos import files
from support import command_line
from support.linted import LEAF, Files, edited, foreign, put, tree

KNOWN = "SONiC, Onyx, EOS, NVUE, and scripts of hosts"
SCENARIOS = Path(__file__).parents[2] / "scenarios"


invoke = partial(command_line.invoke, "control", "lint")


def write(written: Files, folder: Path) -> None:
    for name, text in written.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_path_that_does_not_exist_is_named(tmp_path: Path) -> None:
    expected = "No such file or directory; expected a configuration, or a directory of them"
    assert f"{tmp_path / 'none'}: {expected}\n" in invoke(tmp_path / "none", code=2).stderr


def test_findings_end_with_1_and_say_what_where_expected_and_why(tmp_path: Path) -> None:
    write(tree(), tmp_path)
    assert invoke(tmp_path, code=0).output == "no findings in 3 switches, 4 hosts\n"
    write(edited(LEAF, put("PORT", "Ethernet0", "mtu", "1500")), tmp_path)
    out = invoke(tmp_path, code=1).stdout
    first = f"{tmp_path / LEAF}: Ethernet0: MTU 1500; expected 9000, as everywhere else"
    assert out.splitlines()[0] == first
    assert out.splitlines()[1].strip().startswith("loses packets, mtu: larger packets are")
    first, *_ = json.loads(invoke(tmp_path, "--json", code=1).stdout)
    assert first["rule"] == "mtu"
    assert first["places"][0] == {"file": str(tmp_path / LEAF), "place": "Ethernet0"}
    (run,) = json.loads(invoke(tmp_path, "--format", "sarif", code=1).stdout)["runs"]
    assert (run["results"][0]["ruleId"], run["results"][0]["level"]) == ("mtu", "error")
    assert {row["id"] for row in run["tool"]["driver"]["rules"]} == {row.name for row in lint.RULES}


def test_rules_are_switched_off_in_a_file_with_a_reason(tmp_path: Path) -> None:
    write(edited(LEAF, put("PORT", "Ethernet0", "mtu", "1500")), tmp_path / "fabric")
    off = tmp_path / "lint.toml"
    off.write_text('[off]\nmtu = "that port carries storage only"\n')
    invoke(tmp_path / "fabric", "--off", off, code=0)
    for text, message in (
        ("[off]\nmtu = ''\n", "mtu: expected the reason as a text"),
        ("[off]\nmtuu = 'x'\n", "no rule mtuu; known: readable"),
        ("[on]\n", "expected one table, [off]"),
        ("[", "expected TOML"),
    ):
        off.write_text(text)
        done = invoke(tmp_path / "fabric", "--off", off, code=2)
        assert message in " ".join(done.stderr.split())


def test_standard_input_and_any_name_are_taken(tmp_path: Path) -> None:
    text = json.dumps(foreign())
    result = invoke("-", text=text, code=0)
    assert result.stdout == "no findings in 1 switch, 0 hosts\n"
    (tmp_path / "running").write_text(text)
    invoke(tmp_path / "running", code=0)


def test_a_directory_without_a_switch_that_can_be_read_ends_with_2(tmp_path: Path) -> None:
    for name, text in (("a.cfg", "router ospf\n"), ("b.yaml", "- a: b\n"), ("c.json", "{}")):
        write({name: text}, tmp_path / name)
        assert len(invoke(tmp_path / name, code=2).stderr.splitlines()) == 1
    assert invoke(tmp_path / "a.cfg").stderr.endswith(
        "no switch that can be read; expected a configuration of SONiC, Onyx, EOS or NVUE\n"
    )


@pytest.mark.parametrize("system", ["onyx", "eos", "cumulus"])
def test_commands_are_read_by_any_name_and_from_standard_input(tmp_path: Path, system: str) -> None:
    options = ExportOptions(system=system)
    for name, text in files(policy(SCENARIOS / "dcqcn.toml", options=options), system).items():
        if not name.startswith("switch0"):
            continue
        result = invoke("-", text=text, code=0)
        assert result.stdout == "no findings in 1 switch, 0 hosts\n"
        (tmp_path / "saved").write_text(text)
        assert invoke(tmp_path / "saved", code=0).output == result.stdout


def test_what_is_not_read_of_a_file_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "leaf.cfg").write_text("interface Ethernet1\nvrf a\nvrf b\nntp c\n")
    (tmp_path / "notes.conf").write_text("some words\n")
    assert invoke(tmp_path, code=1).stderr.splitlines() == [
        f"note: {tmp_path}/leaf.cfg: not read: vrf a (line 2), ntp c (line 4)",
        f"note: {tmp_path}/notes.conf: not read; the linter knows {KNOWN}",
    ]


def test_a_command_that_is_not_read_is_cut_between_words_only(tmp_path: Path) -> None:
    command = "priority-flow-control priority 3 no-dorp " + "and so on " * 8
    (tmp_path / "leaf.cfg").write_text(f"interface Ethernet1\n   {command}\n")
    shown = "priority-flow-control priority 3 no-dorp and so on and so … (line 2)"
    assert invoke(tmp_path).stderr == f"note: {tmp_path}/leaf.cfg: not read: {shown}\n"


def test_every_file_of_a_finding_is_named(tmp_path: Path) -> None:
    other = LEAF.replace("leaf0", "leaf1")
    change = put("PORT", "Ethernet0", "mtu", "1500")
    write(edited(LEAF, change) | {other: edited(other, change)[other]}, tmp_path)
    assert invoke(tmp_path).stdout.splitlines()[:2] == [
        f"{tmp_path / LEAF}: Ethernet0: MTU 1500; expected 9000, as everywhere else",
        f"    also {tmp_path / other}: Ethernet0",
    ]


def test_settings_of_many_missing_ports_are_one_finding(tmp_path: Path) -> None:
    tables = foreign()
    first = next(iter(tables["PORT"]))
    tables["PORT"] = {first: tables["PORT"][first]}
    (tmp_path / "x.json").write_text(json.dumps(tables))
    findings = json.loads(invoke(tmp_path / "x.json", "--json").stdout)
    (missing,) = [finding for finding in findings if finding["rule"] == "ports"]
    assert missing["found"] == "not a port of the switch" and len(missing["places"]) > 3


def test_mistakes_end_with_2(tmp_path: Path) -> None:
    invoke(code=2)
    invoke(tmp_path / "none.json", code=2)
    (tmp_path / "x.json").write_bytes(b"\xff")
    assert "expected UTF-8 text" in invoke(tmp_path / "x.json", code=2).stderr


def test_rules_are_listed_with_their_reasons() -> None:
    assert len(invoke("--rules", code=0).stdout.splitlines()) == len(lint.RULES)


@pytest.mark.parametrize("text", ['{"PORT": {"Ethernet0"', "\udcff"])
def test_a_broken_file_is_named_and_all_others_are_checked(text: str, tmp_path: Path) -> None:
    write(edited(LEAF, put("DSCP_TO_TC_MAP", "ETHERWEAVE", "26", "4")), tmp_path)
    broken = tmp_path / "broken" / "config_db.json"
    broken.parent.mkdir()
    broken.write_bytes(text.encode(errors="surrogateescape"))
    done = invoke(tmp_path, code=2)
    assert "DSCP 26" in done.stdout and "in 3 switches" in done.stdout
    assert done.stdout.endswith("; not read: 1 file\n")
    assert f"{broken}: " in done.stderr and "expected" in done.stderr
