"""Files for other programs: references, a test for ReFrame, scripts for Slurm."""

import ast
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from etherweave.bench.campaigns.points import judged_launches
from etherweave.bench.campaigns.store import Store
from etherweave.bench.campaigns.summary import summary
from support import command_line
from support.launches import FakeLauncher, campaign, latencies, stored_campaign

etherweave = partial(command_line.invoke, "bench", "export")


@pytest.fixture
def result(tmp_path: Path) -> Path:
    launcher = FakeLauncher(lambda number: latencies(10.0))
    return stored_campaign(tmp_path / "out", campaign(), launcher)


def test_a_reference_lets_times_rise_and_never_minds_their_fall(result: Path) -> None:
    """ReFrame's tuple: value, lower and upper threshold as shares, unit."""
    done = etherweave("reframe", result, "--system", "lab:nodes", "--tolerance", "0.2")
    reference = ast.literal_eval(done.stdout)
    assert reference == {
        "lab:nodes": {
            "osu_latency_lan_a_b_latency_1B": (10e-6, None, 0.2, "s"),
            "osu_latency_lan_a_b_latency_2B": (20e-6, None, 0.2, "s"),
            "osu_latency_lan_a_b_latency_4B": (30e-6, None, 0.2, "s"),
        }
    }


def test_names_of_points_differ(result: Path) -> None:
    store = Store.open(result)
    outcome = summary(store.campaign, judged_launches(store.campaign, store.records()))
    facts = outcome.facts()["points"]
    assert [fact["name"] for fact in facts] == [point.point.slug for point in outcome.points]
    point = outcome.points[0].point
    others = [
        replace(point, fabric="other"),
        replace(point, hosts="a,c"),
        replace(point, size_bytes=11),
        replace(point, ranks_per_node=2),
    ]
    assert len({other.slug for other in others}) == len(others)
    assert point.slug not in {other.slug for other in others}


def test_the_plugin_imports_nothing_of_etherweave() -> None:
    path = Path(etherweave("plugin").stdout.strip())
    tree = ast.parse(path.read_text())
    imported = {
        name
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert "reframe" in imported
    assert not any(name.startswith("etherweave") for name in imported)


@pytest.mark.needs("reframe", "qperf")
@pytest.mark.parametrize(("share", "status"), [(1e-3, 0), (1e3, 1)])
def test_reframe_holds_medians_to_references(tmp_path: Path, share: float, status: int) -> None:
    """A bandwidth must reach a thousandth, or a thousandfold, of 1 GB/s."""
    name = "qperf_native_localhost_localhost_bandwidth_test_tcp_bw_1024B"
    reference = tmp_path / "reference.py"
    reference.write_text(repr({"generic:default": {name: (1e9 * share, -0.99, None, "B/s")}}))
    command = tmp_path / "bin" / "etherweave"
    command.parent.mkdir()
    start = "from etherweave.cli import main; main()"
    command.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{start}' \"$@\"\n")
    command.chmod(0o755)
    options = "--size=1KiB:1KiB,--duration=1s,--launches=1,--no-telemetry"
    done = subprocess.run(
        [
            *("reframe", "--prefix", tmp_path, "-c", etherweave("plugin").stdout.strip()),
            *("-S", "programs=qperf", "-S", f"options={options}"),
            *("-S", f"reference_file={reference}", "-r", "--report-file", tmp_path / "report"),
        ],
        env=os.environ | {"PATH": f"{command.parent}:{os.environ['PATH']}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == status, done.stdout
    assert name in done.stdout


def test_a_batch_script_hands_the_warning_signal_on(tmp_path: Path) -> None:
    done = etherweave(
        *("slurm", "--nodes", "4", "--time", "90min", "--partition", "debug"),
        *("osu_bw", "--site", "my site.toml", "-o", "$HOME/results; rm -rf x"),
        code=0,
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "#!/bin/bash"
    assert "#SBATCH --time=01:30:00" in lines
    assert "#SBATCH --signal=B:TERM@60" in lines
    script = tmp_path / "run.sh"
    script.write_text(done.stdout.replace("exec etherweave", "exec printf '%s\\n'"))
    reported = subprocess.run(["bash", str(script)], capture_output=True, text=True, check=True)
    assert reported.stdout.splitlines() == [
        *("bench", "run", "osu_bw", "--site", "my site.toml", "-o", "$HOME/results; rm -rf x")
    ]


@pytest.mark.parametrize("name", ["two words", "a\n#SBATCH --wrap=x", "--hold", "$(id)"])
def test_a_name_that_slurm_would_misread_is_rejected(name: str) -> None:
    assert "job-name" in etherweave("slurm", f"--name={name}", "osu_bw", "-o", "x", code=2).stderr
