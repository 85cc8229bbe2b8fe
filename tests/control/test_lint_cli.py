"""The verb ``control lint``: its inputs, forms of findings and exit codes."""

import json
from pathlib import Path

import pytest

from etherweave.control import lint
from etherweave.control.qos.derive import ExportOptions, policy
from etherweave.control.qos.nos import files
from support import command_line
from support.linted import LEAF, Files, edited, foreign, put, tree

KNOWN = "SONiC, Onyx, EOS, NVUE, and scripts of hosts"
SCENARIOS = Path(__file__).parents[2] / "scenarios"


def invoke(*words: str) -> tuple[int, str, str]:
    result = command_line.invoke("control", "lint", *words)
    return result.exit_code, result.stdout, result.stderr


def write(written: Files, folder: Path) -> None:
    for name, text in written.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_findings_end_with_1_and_say_what_where_expected_and_why(tmp_path: Path) -> None:
    write(tree(), tmp_path)
    assert invoke(str(tmp_path)) == (0, "no findings in 3 switches, 4 hosts\n", "")
    write(edited(LEAF, put("PORT", "Ethernet0", "mtu", "1500")), tmp_path)
    code, out, _ = invoke(str(tmp_path))
    assert code == 1
    first = f"{tmp_path / LEAF}: Ethernet0: MTU 1500; expected 9000, as everywhere else"
    assert out.splitlines()[0] == first
    assert out.splitlines()[1].strip().startswith("loses packets, mtu: larger packets are")
    code, out, _ = invoke(str(tmp_path), "--json")
    assert code == 1 and json.loads(out)[0]["rule"] == "mtu"
    assert json.loads(out)[0]["places"][0] == {"file": str(tmp_path / LEAF), "place": "Ethernet0"}
    code, out, _ = invoke(str(tmp_path), "--format", "sarif")
    (run,) = json.loads(out)["runs"]
    assert (code, run["results"][0]["ruleId"], run["results"][0]["level"]) == (1, "mtu", "error")
    assert {row["id"] for row in run["tool"]["driver"]["rules"]} == {row.name for row in lint.RULES}


def test_rules_are_switched_off_in_a_file_with_a_reason(tmp_path: Path) -> None:
    write(edited(LEAF, put("PORT", "Ethernet0", "mtu", "1500")), tmp_path / "fabric")
    off = tmp_path / "lint.toml"
    off.write_text('[off]\nmtu = "that port carries storage only"\n')
    assert invoke(str(tmp_path / "fabric"), "--off", str(off))[0] == 0
    for text, message in (
        ("[off]\nmtu = ''\n", "mtu: expected the reason as a text"),
        ("[off]\nmtuu = 'x'\n", "no rule mtuu; known: readable"),
        ("[on]\n", "expected one table, [off]"),
        ("[", "expected TOML"),
    ):
        off.write_text(text)
        code, _, result = invoke(str(tmp_path / "fabric"), "--off", str(off))
        assert code == 2 and message in " ".join(result.split())


def test_standard_input_and_any_name_are_taken(tmp_path: Path) -> None:
    text = json.dumps(foreign())
    result = command_line.run("control", "lint", "-", text=text)
    assert (result.returncode, result.stdout) == (0, "no findings in 1 switch, 0 hosts\n")
    (tmp_path / "running").write_text(text)
    assert invoke(str(tmp_path / "running"))[0] == 0


def test_a_directory_without_a_switch_that_can_be_read_ends_with_2(tmp_path: Path) -> None:
    for name, text in (("a.cfg", "router ospf\n"), ("b.yaml", "- a: b\n"), ("c.json", "{}")):
        write({name: text}, tmp_path / name)
        code, _, result = invoke(str(tmp_path / name))
        assert code == 2 and len(result.splitlines()) == 1
    assert invoke(str(tmp_path / "a.cfg"))[2].endswith(
        "no switch that can be read; expected a configuration of SONiC, Onyx, EOS or NVUE\n"
    )


@pytest.mark.parametrize("system", ["onyx", "eos", "cumulus"])
def test_commands_are_read_by_any_name_and_from_standard_input(tmp_path: Path, system: str) -> None:
    options = ExportOptions(system=system)
    for name, text in files(policy(SCENARIOS / "dcqcn.toml", options=options), system).items():
        if not name.startswith("switch0"):
            continue
        result = command_line.run("control", "lint", "-", text=text)
        assert (result.returncode, result.stdout) == (0, "no findings in 1 switch, 0 hosts\n")
        (tmp_path / "saved").write_text(text)
        assert invoke(str(tmp_path / "saved")) == (0, "no findings in 1 switch, 0 hosts\n", "")


def test_what_is_not_read_of_a_file_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "leaf.cfg").write_text("interface Ethernet1\nvrf a\nvrf b\nntp c\n")
    (tmp_path / "notes.conf").write_text("some words\n")
    code, _, notes = invoke(str(tmp_path))
    assert code == 1
    assert notes.splitlines() == [
        f"note: {tmp_path}/leaf.cfg: not read: vrf a (line 2), ntp c (line 4)",
        f"note: {tmp_path}/notes.conf: not read; the linter knows {KNOWN}",
    ]


def test_a_command_that_is_not_read_is_cut_between_words_only(tmp_path: Path) -> None:
    command = "priority-flow-control priority 3 no-dorp " + "and so on " * 8
    (tmp_path / "leaf.cfg").write_text(f"interface Ethernet1\n   {command}\n")
    _, _, notes = invoke(str(tmp_path))
    shown = "priority-flow-control priority 3 no-dorp and so on and so … (line 2)"
    assert notes == f"note: {tmp_path}/leaf.cfg: not read: {shown}\n"


def test_every_file_of_a_finding_is_named(tmp_path: Path) -> None:
    other = LEAF.replace("leaf0", "leaf1")
    change = put("PORT", "Ethernet0", "mtu", "1500")
    write(edited(LEAF, change) | {other: edited(other, change)[other]}, tmp_path)
    _, out, _ = invoke(str(tmp_path))
    assert out.splitlines()[:2] == [
        f"{tmp_path / LEAF}: Ethernet0: MTU 1500; expected 9000, as everywhere else",
        f"    also {tmp_path / other}: Ethernet0",
    ]


def test_settings_of_many_missing_ports_are_one_finding(tmp_path: Path) -> None:
    tables = foreign()
    first = next(iter(tables["PORT"]))
    tables["PORT"] = {first: tables["PORT"][first]}
    (tmp_path / "x.json").write_text(json.dumps(tables))
    findings = json.loads(invoke(str(tmp_path / "x.json"), "--json")[1])
    (missing,) = [finding for finding in findings if finding["rule"] == "ports"]
    assert missing["found"] == "not a port of the switch" and len(missing["places"]) > 3


def test_mistakes_end_with_2(tmp_path: Path) -> None:
    assert invoke()[0] == 2
    assert invoke(str(tmp_path / "none.json"))[0] == 2
    (tmp_path / "x.json").write_bytes(b"\xff")
    code, _, result = invoke(str(tmp_path / "x.json"))
    assert code == 2 and "expected UTF-8 text" in result


def test_rules_are_listed_with_their_reasons() -> None:
    code, out, _ = invoke("--rules")
    assert code == 0 and len(out.splitlines()) == len(lint.RULES)


@pytest.mark.parametrize("text", ['{"PORT": {"Ethernet0"', "\udcff"])
def test_a_broken_file_is_named_and_all_others_are_checked(text: str, tmp_path: Path) -> None:
    write(edited(LEAF, put("DSCP_TO_TC_MAP", "ETHERWEAVE", "26", "4")), tmp_path)
    broken = tmp_path / "broken" / "config_db.json"
    broken.parent.mkdir()
    broken.write_bytes(text.encode(errors="surrogateescape"))
    code, out, error = invoke(str(tmp_path))
    assert code == 2
    assert "DSCP 26" in out and "in 3 switches" in out and out.endswith("; not read: 1 file\n")
    assert f"{broken}: " in error and "expected" in error
