"""The file of NCCL's tuner plug-in: what is written is read, and what is damaged is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from etherweave.api.inputs import InputError
from etherweave.api.tuning import (
    ANY,
    SIZE_END,
    Entry,
    Group,
    Timing,
    Tuning,
    Variant,
    _entries,
    ncclx_text,
    read_tuner,
    tuner_text,
)

GROUP = Group(4, 32)
TREE = Entry("allreduce", 0, 65_535, "tree", "ll", ANY, *GROUP)
RING = Entry("allreduce", 65_536, SIZE_END, "ring", "simple", ANY, *GROUP)


def timing(size: int, algorithm: str, protocol: str, own_s: float = 2e-6) -> Timing:
    return Timing("allreduce", GROUP, size, own_s, Variant(algorithm, protocol), 1e-6)


def test_an_entry_ends_before_the_first_size_of_the_next() -> None:
    timings = [
        timing(1 << 10, "tree", "ll"),
        timing(1 << 12, "tree", "ll"),
        timing(1 << 16, "ring", "simple"),
    ]
    assert _entries(timings) == [TREE, RING]


def test_ranges_of_ncclx_are_shares_of_a_rank() -> None:
    """A rank has 2,048 B of 64 KiB in 32 ranks; the last range has no end."""
    assert ncclx_text([TREE, RING]).splitlines()[1:] == [
        "allreduce,[0,2047],tree,ll,-1,4,8,-1,-1",
        "allreduce,[2048,),ring,simple,-1,4,8,-1,-1",
    ]
    with pytest.raises(ValueError, match="any group; expected nNodes and nRanks"):
        ncclx_text([replace(TREE, ranks=ANY)])


def test_an_entry_has_the_channels_of_the_fastest_calls() -> None:
    fastest = Variant("ring", "simple", 8)
    (entry,) = _entries([replace(timing(1 << 10, "ring", "simple"), chosen=fastest)])
    assert ",ring,simple,8,4,32,-1,-1" in tuner_text([entry])


def test_the_gain_of_an_entry_is_the_mean_over_sizes_in_its_range() -> None:
    timings = [
        timing(1 << 10, "tree", "ll", 2e-6),
        timing(1 << 12, "tree", "ll", 1e-6),
        timing(1 << 16, "ring", "simple", 1e-6),
    ]
    assert Tuning([TREE, RING], timings).gains == pytest.approx([0.5, 0])


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file = tmp_path / "nccl_tuner.conf"
    file.write_text(tuner_text([TREE, RING]))
    assert "allreduce,0,65535,tree,ll,-1,4,32,-1,-1\n" in file.read_text()
    assert read_tuner(file) == [TREE, RING]


def test_short_lines_match_any_call(tmp_path: Path) -> None:
    file = tmp_path / "nccl_tuner.conf"
    file.write_text("# a comment\n\nbroadcast, 0, 32768, tree, simple, -1, 1, -1\n")
    (entry,) = read_tuner(file)
    assert (entry.pipe_ops, entry.registered, entry.algorithm) == (ANY, ANY, "tree")
    assert entry.matches("broadcast", 32_768, Group(1, 8))
    assert not entry.matches("broadcast", 32_769, Group(1, 8))
    assert not entry.matches("broadcast", 8, Group(2, 8))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("allreduce,0,8,ring", "line 2: fields: '4'; expected 8 to 10: collective_type,"),
        ("alltoall,0,8,ring,ll,-1,1,8", "collective_type: 'alltoall'; expected one of allreduce,"),
        ("reduce,0,8,star,ll,-1,1,8", "algorithm: 'star'; expected one of tree, ring,"),
        ("reduce,0,8,ring,LL,-1,1,8", "protocol: 'LL'; expected one of ll, ll128, simple"),
        ("reduce,-1,8,ring,ll,-1,1,8", "min_bytes: '-1'; expected a whole number from 0 to"),
        ("reduce,9,8,ring,ll,-1,1,8", "max_bytes: '8'; expected 9 or more, where the range begins"),
        ("reduce,0,1e9,ring,ll,-1,1,8", "max_bytes: '1e9'; expected a whole number from 0 to"),
        ("reduce,0,8,ring,ll,-2,1,8", "channels: '-2'; expected a whole number from -1 to"),
        (f"reduce,0,{10**30},ring,ll,1,1,8", "max_bytes: '1000000000000000000000000000000';"),
        ("reduce,0,8,ring,ll,-1,1,8,1,1,1", "line 2: fields: '11'; expected 8 to 10"),
    ],
)
def test_a_damaged_line_is_named(line: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "nccl_tuner.conf"
    file.write_text(f"{tuner_text([TREE]).splitlines()[1]}\n{line}\n")
    with pytest.raises(InputError) as error:
        read_tuner(file)
    assert "line 2" in str(error.value) and reason in str(error.value)


def test_a_file_of_many_lines_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "nccl_tuner.conf"
    file.write_text("\n" * 10_001)
    with pytest.raises(InputError, match="10,001 lines; expected at most 10,000"):
        read_tuner(file)


@pytest.mark.parametrize("text", ["", "\n", "# collective_type,min_bytes\n"])
def test_a_file_without_an_entry_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "nccl_tuner.conf"
    file.write_text(text)
    with pytest.raises(InputError, match="no entry; expected a line or more of collective_type"):
        read_tuner(file)
