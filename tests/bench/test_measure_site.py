"""Schedules executed on the hosts of a site: namespaces of this machine."""

import json
import os
import signal
import statistics
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from etherweave.api import toml
from etherweave.api.results import Result
from etherweave.bench.launchers import namespaces
from etherweave.bench.launchers.launcher import LaunchJob
from etherweave.bench.launchers.registry import launcher
from etherweave.bench.measure import executor, measure
from etherweave.bench.programs.plans import BenchmarkCommand, Start
from etherweave.bench.site.reading import read
from etherweave.bench.site.values import ClusterSite, SiteHost
from support import command_line, private_slurm
from support.living import programs
from support.waiting import until

pytestmark = [
    pytest.mark.needs("namespaces", "mpicc", "mpirun"),
    pytest.mark.usefixtures("own_cache"),
]
SITE = """
launcher = { kind = "netns", rate = "1Gb/s", burst = "128KiB" }
hosts = { n1 = {}, n2 = {}, n3 = {}, n4 = {} }
"""


@pytest.fixture
def site_file(tmp_path: Path) -> Path:
    file = tmp_path / "site.toml"
    file.write_text(SITE)
    return file


@pytest.fixture
def site(site_file: Path) -> ClusterSite:
    return read(site_file)


def shaped(site: ClusterSite, rate: float, burst: float) -> ClusterSite:
    """Change the links of a site: rate [bytes/s], burst [bytes]."""
    return replace(site, options={"rate": rate, "burst": burst})


def scenario(*workloads: Any) -> dict[str, Any]:
    jobs = [{"name": f"job{at}", "workload": workload} for at, workload in enumerate(workloads)]
    return {"topology": {"single_switch": {"hosts": 16}}, "job": jobs}


def nothing_is_left() -> bool:
    """Report whether namespaces and files of launches of this process are gone."""
    mine = f"ew-bench.{os.getpid()}."
    listed = subprocess.check_output(["ip", "netns", "list"], text=True).split()
    cache = Path(os.environ["XDG_CACHE_HOME"]) / "etherweave"
    return not any(word.startswith(mine) for word in listed) and not list(cache.glob("launch-*"))


def placement(result: Result) -> list[tuple[str, str]]:
    return result.to_polars("ranks").select("scenario_host", "host").rows()


def test_ranks_run_on_the_named_hosts_in_order(site: ClusterSite) -> None:
    latency = {"osu_latency": {"bytes": "8B", "iterations": 20}}
    result = measure(scenario(latency, latency), site=site, hosts=("n3", "n1", "n4", "n2"))
    assert [host for _, host in placement(result)] == ["n3", "n1", "n4", "n2"]
    facts = result.summary["measured"]
    assert (facts["launcher"], facts["hosts"]) == ("netns", 4)
    assert not any("shared" in warning for warning in result.summary["warnings"])
    assert nothing_is_left()


@pytest.mark.slow
def test_more_ranks_than_hosts_are_placed_in_blocks_with_a_warning(site: ClusterSite) -> None:
    fft = {"pex": 5, "pey": 1, "pez": 1, "x_bytes": "1kB", "y_bytes": "1kB", "iterations": 2}
    result = measure(scenario({"fft": fft}), site=site)
    assert [host for _, host in placement(result)] == ["n1", "n1", "n2", "n2", "n3"]
    warning = "5 ranks shared 3 hosts, up to 2 on each, block after block: their messages"
    assert any(text.startswith(warning) for text in result.summary["warnings"])


@pytest.mark.slow
def test_the_command_line_measures_on_a_site(site_file: Path, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(toml.document(scenario({"osu_latency": {"bytes": "8B", "iterations": 20}})))
    words = ("measure", file, "--site", site_file, "--hosts", "n2,n4", "-o", tmp_path / "out")
    done = command_line.invoke(*words, code=0)
    assert "ranks: 2, hosts: 2, launches: 1" in done.stdout
    assert [host for _, host in placement(Result.load(tmp_path / "out"))] == ["n2", "n4"]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--hosts", "n1,n9"], "host n9: is not of site site; expected n1, n2, n3, n4"),
        (["--fabric", "roce"], "fabric roce: is not of site site; expected a site with fabrics"),
        (["--launcher", "srun"], "--site: the site names the launcher; expected no --launcher"),
    ],
)
def test_a_mistake_in_the_options_of_a_site_is_an_error(
    site_file: Path, tmp_path: Path, options: list[str], error: str
) -> None:
    file = tmp_path / "small.toml"
    file.write_text(toml.document(scenario({"osu_latency": {}})))
    words = ["measure", str(file), "--site", str(site_file), *options]
    assert error in command_line.invoke(*words, code=2).stderr


def test_a_queue_holds_a_whole_burst_of_tcp(site: ClusterSite, tmp_path: Path) -> None:
    # 5 ms at 100 Mb/s are 62,500 B, less than a segment of TCP before it is cut.
    slow = shaped(site, 12.5e6, 3072.0)
    command = BenchmarkCommand(Start.ALONE, ("tc", "-j", "qdisc", "show", "dev", "h0"))
    (bucket,) = json.loads(launcher(slow).launch(LaunchJob(command, ("n1",), 1, tmp_path, 20)).text)
    # tc prints the limit as the time that a frame at its end waits when the bucket was full.
    assert bucket["options"]["lat"] / 1e6 * 12.5e6 + 3072 == pytest.approx(
        62_500 + 2 * 65_536, rel=1e-3
    )


WIRE = 1514 / 1448
"""A frame of 1500 B and Ethernet's header of 14 B, which tbf counts, carries 1448 B of TCP."""


def round_trips(result: Result, job: str, launch: int = 0) -> list[float]:
    """Iterations of a job [s], as rank 0 saw them."""
    rows = result.to_polars("iterations").filter(job=job, rank=0, launch=launch)
    return [duration_ns / 1e9 for duration_ns in rows["duration_ns"]]


def test_a_link_with_a_small_bucket_has_a_constant_rate(site: ClusterSite) -> None:
    rate, burst, size = 250e6 / 8, 3072.0, 65_536
    latency = {"osu_latency": {"bytes": f"{size}B", "warm_up": 2, "iterations": 30}}
    result = measure(scenario(latency), site=shaped(site, rate, burst))
    # What the bucket has saved goes at once; the rest goes as the line has it, there and back.
    assert min(round_trips(result, "job0")) >= 2 * (size * WIRE - burst) / rate


RATE, BURST = 1e9 / 8, 128 * 1024
"""Links [bytes/s] of the site above, and the savings of a bucket when nothing was sent [bytes]."""
MESSAGE = 8 << 20
"""That goes back and forth [bytes]: 70 ms, in which the bucket of the other side is full again."""
WINDOW = 16  # Messages of 1 MiB in flight, before the receiver confirms that all have arrived.


def median_least(result: Result, job: str) -> float:
    """Give the least median of launches: what else a machine does only ever adds [s]."""
    launches = range(result.summary["measured"]["launches"])
    return min(statistics.median(round_trips(result, job, launch)) for launch in launches)


@pytest.mark.alone
@pytest.mark.slow
def test_two_pairs_at_once_reach_the_rate_of_their_links(site: ClusterSite) -> None:
    small = measure(scenario({"osu_latency": {"bytes": "8B", "iterations": 200}}), site=site)
    latency = {"osu_latency": {"bytes": f"{MESSAGE}B", "warm_up": 0, "iterations": 5}}
    window = {"bytes": "1MiB", "window": WINDOW, "warm_up": 0, "iterations": 5}
    result = measure(scenario(latency, {"osu_bw": window}), site=site, launches=3)
    assert [host for _, host in placement(result)] == ["n1", "n2", "n3", "n4"] * 3
    there = (MESSAGE * WIRE - BURST) / RATE
    back_and_forth = 2 * there + statistics.median(round_trips(small, "job0"))
    assert median_least(result, "job0") == pytest.approx(back_and_forth, rel=0.05)
    # A window begins with a full bucket at most, and ends with an answer of 4 B.
    carried = (WINDOW * 2**20 * WIRE - BURST) / RATE
    assert median_least(result, "job1") == pytest.approx(carried, rel=0.05)
    assert nothing_is_left()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_measurement_that_is_ended(
    site_file: Path, tmp_path: Path, number: signal.Signals
) -> None:
    file = tmp_path / "long.toml"
    halo = {"pex": 2, "pey": 1, "pez": 1, "sleep": "1s", "iterations": 400}
    file.write_text(toml.document(scenario({"halo3d": halo})))
    words = [*command_line.COMMAND, "measure", str(file), "--site", str(site_file)]
    home = os.environ["XDG_CACHE_HOME"]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
        until(lambda: len(programs(home)) == 2)
        process.send_signal(number)
        status = process.wait(30)
    assert status == (-number if number is signal.SIGKILL else 130)
    until(lambda: not programs(home))
    cache = Path(home, "etherweave")
    if number is signal.SIGKILL:
        namespaces.sweep()
        assert len(list(cache.glob("launch-*"))) == 1
        executor.remove_abandoned(cache)
    assert not list(cache.glob("launch-*"))
    left = [path.name for path in Path("/run/netns").iterdir()]
    assert not any(name.startswith(f"ew-bench.{process.pid}.") for name in left)


@pytest.mark.needs("slurm")
@pytest.mark.usefixtures("slurm")
def test_slurm_starts_ranks_in_blocks_on_its_nodes() -> None:
    hosts = tuple(SiteHost(name, "127.0.0.1", "lo") for name in private_slurm.NODES)
    network = (("OMPI_MCA_btl", "tcp,self"), ("OMPI_MCA_btl_tcp_if_include", "lo"))
    # Two ranks that connect to each other at once on one address end in a crash now and then.
    patient = (("OMPI_MCA_mpi_yield_when_idle", "1"), ("OMPI_MCA_mpi_preconnect_mpi", "1"))
    cluster = ClusterSite("slurm", "srun", hosts, {"mpi": "pmix"}, (), (*network, *patient))
    fft = {"pex": 5, "pey": 1, "pez": 1, "x_bytes": "1kB", "y_bytes": "1kB", "iterations": 3}
    for kind in ("srun", "sbatch"):
        result = measure(scenario({"fft": fft}), site=replace(cluster, launcher=kind), verify=True)
        assert result.tables["iterations"].num_rows == 5 * 3
        words = result.summary["measured"]["command"]
        assert {"--nodes=3", "--ntasks=5", "--mpi=pmix"} <= {*words}
