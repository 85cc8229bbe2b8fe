"""The catalogue of benchmarks, and looking for their programs."""

import os
import stat
from pathlib import Path

import pytest

from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.programs.binaries import find, launcher_mpi, mpi_of
from etherweave.bench.programs.catalogue import catalogue

SURVEYED = {
    "3": "perftest rdma_bench netperf iperf2 iperf3 qperf gpcnet",
    "4.1 and 4.2": "osu npb imb osu_upc",
    "4.3": "apache_thrift tf_grpc_bench rpc_perf",
    "4.4": "spdk_perf iozone iometer ec_bench",
    "4.5": "perfzero torchbench param deepbench nccl_tests gloo",
    "4.6 and 4.7": "ycsb osu_hibd deathstarbench usuite",
    "7, storage": "storage_benchmark_kit cosbench cloud_file_systems",
    "7, big data": "hibench mrbench textbends tpc",
    "7, AI": "aibench mlperf dataperf hpc_ai500",
    "7, computing": "spec parsec",
}
"""Benchmarks by section of Li et al., *Understanding hot interconnects with an extensive benchmark
survey* (2022); sections 5 and 6 name no others."""
TIERS = {
    1: "osu imb perftest iperf3 iperf2 netperf qperf gpcnet hpcc hpl",
    2: "npb ember chatterbug mpigraph ucx_perftest fi_pingpong sockperf nuttcp netpipe nccl_tests "
    "gloo openfoam",
    3: "fio iozone spdk_perf ycsb redis_benchmark wrk rpc_perf param mlperf pico",
}
WITHOUT_SOURCE = {"apache_thrift", "tf_grpc_bench", "ec_bench", "mrbench", "textbends"}
WITHOUT_SOURCE |= {"cloud_file_systems"}
"""Papers describe them; a public place to get them is not known."""


def test_every_adapter_has_an_entry_of_its_tier() -> None:
    assert catalogue().keys() >= ADAPTERS.keys()
    for tier, names in TIERS.items():
        assert {name for name in ADAPTERS if catalogue()[name].tier == tier} == set(names.split())


@pytest.mark.parametrize("section", SURVEYED)
def test_every_benchmark_of_the_survey_has_an_entry(section: str) -> None:
    assert set(SURVEYED[section].split()) <= catalogue().keys()


def test_nothing_is_in_the_catalogue_but_adapters_and_the_survey() -> None:
    surveyed = {name for names in SURVEYED.values() for name in names.split()}
    assert catalogue().keys() == surveyed | ADAPTERS.keys()


def test_the_source_of_a_benchmark_is_printed_if_it_is_known() -> None:
    assert {name for name, entry in catalogue().items() if not entry.obtained} == WITHOUT_SOURCE


def test_an_entry_without_adapter_says_why_and_the_others_how_to_obtain_it() -> None:
    for name, entry in catalogue().items():
        assert entry.is_read == (entry.tier > 0) == (not entry.why_not), name
        assert entry.obtained or not entry.is_read, name
        assert entry.measures and entry.layer and entry.transport, name


@pytest.mark.parametrize(
    ("libraries", "expected"),
    [
        ("libmpi.so.40 => /usr/lib/libmpi.so.40\nlibopen-pal.so.40 => /usr/lib/x", "Open MPI"),
        ("liboshmem.so.40 => /usr/lib/liboshmem.so.40", "Open MPI"),
        ("libmpich.so.12 => /usr/lib/x86_64-linux-gnu/libmpich.so.12", "MPICH"),
        ("libmpi.so.12 => /opt/intel/oneapi/mpi/latest/lib/libmpi.so.12", "Intel MPI"),
        ("libmpi.so.12 => /opt/mvapich2/lib/libmpi.so.12", "MVAPICH"),
        ("libmpi_cray.so.12 => /opt/cray/pe/lib64/libmpi_cray.so.12", "Cray MPICH"),
        ("libc.so.6 => /lib/libc.so.6", None),
        ("not a dynamic executable", None),
    ],
)
def test_the_libraries_of_a_program_name_its_mpi(libraries: str, expected: str | None) -> None:
    assert mpi_of(libraries) == expected


def test_launchers_say_whose_they_are() -> None:
    assert launcher_mpi("mpirun (Open MPI) 4.1.4") == "Open MPI"
    assert launcher_mpi("HYDRA build details:\n    Version: 4.0.2") == "MPICH"
    assert launcher_mpi("Intel(R) MPI Library for Linux* OS, Version 2021.11") == "Intel MPI"
    assert launcher_mpi("srun 22.05.8") is None


def script(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_a_program_is_found_with_its_version(tmp_path: Path) -> None:
    script(tmp_path, "iperf3", "echo 'iperf 3.12 (cJSON 1.7.15)'")
    binary = find(ADAPTERS["iperf3"], "iperf3", os.fspath(tmp_path))
    assert binary is not None
    assert (binary.path, binary.version, binary.mpi) == (tmp_path / "iperf3", "3.12", None)
    assert find(ADAPTERS["osu"], "osu_bw", os.fspath(tmp_path)) is None


def test_a_program_that_cannot_run_has_no_version(tmp_path: Path) -> None:
    (tmp_path / "iperf3").write_bytes(b"\x7fELF garbage")
    (tmp_path / "iperf3").chmod(0o755)
    binary = find(ADAPTERS["iperf3"], "iperf3", os.fspath(tmp_path))
    assert binary is not None
    assert binary.version is None
