"""The verb ``import``: what it writes, and what it leaves as it is."""

from pathlib import Path

from support import command_line

STAR = "a,s,100G,3m\nb,s,100G,3m\n"


def test_an_import_keeps_a_scenario_to_which_a_job_was_added(tmp_path: Path) -> None:
    (tmp_path / "star.csv").write_text(STAR)
    command = ("import", tmp_path / "star.csv", "-o", tmp_path / "fabric")
    command_line.invoke(*command, code=0)
    command_line.invoke(*command, code=0)  # Equal files are no loss.
    scenario = tmp_path / "fabric/star.toml"
    text = scenario.read_text()
    scenario.write_text(text + '[[job]]\nname = "all"\n')
    done = command_line.invoke(*command, code=2)
    assert "star.toml: exists with other contents, which stay; expected another -o" in done.stderr
    assert scenario.read_text().endswith('name = "all"\n')
    command_line.invoke(*command, "--overwrite", code=0)
    assert scenario.read_text() == text
