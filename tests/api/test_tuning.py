"""Files of tuners of NCCL: what is written is read, and what is damaged is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from etherweave.api.inputs import InputError
from etherweave.api.tuner_files import (
    ANY,
    SIZE_END,
    Entry,
    Group,
    Interval,
    Library,
    NcclxEntry,
    for_library,
    read_tuner,
    tuner_text,
)
from etherweave.api.tuning import Timing, Tuning, Variant, _entries, gaps

GROUP = Group(4, 32)
TREE = Entry("allreduce", 0, 65_535, "tree", "ll", ANY, *GROUP)
RING = Entry("allreduce", 65_536, SIZE_END, "ring", "simple", ANY, *GROUP)


def timing(size: int, algorithm: str, protocol: str, own_s: float = 2e-6) -> Timing:
    return Timing("allreduce", GROUP, size, own_s, Variant(algorithm, protocol), 1e-6)


def test_sizes_between_two_have_the_entry_of_the_nearer() -> None:
    """The choice changes at √(4 KiB · 64 KiB)."""
    timings = [
        timing(1 << 10, "tree", "ll"),
        timing(1 << 12, "tree", "ll"),
        timing(1 << 16, "ring", "simple"),
    ]
    changes = 1 << 14
    ends = [replace(TREE, max_bytes=changes - 1), replace(RING, min_bytes=changes)]
    assert _entries(timings) == ends
    assert gaps(timings) == [(timings[1], timings[2])]


def test_an_entry_that_no_simulated_call_matches_has_no_gain() -> None:
    missed = replace(timing(1 << 20, "ring", "simple"), chosen=None)
    assert Tuning([TREE, RING], [missed]).gains == [None, None]


def test_ranges_of_ncclx_are_shares_of_a_rank() -> None:
    """A rank has 2,048 B of 64 KiB in 32 ranks; the last range has no end."""
    assert tuner_text([TREE, RING], Library.NCCLX).splitlines() == [
        "# collective,bytesPerRank,algorithm,protocol,channels,nNodes,nLocalRanks",
        "allreduce,[0,2047],tree,ll,-1,4,8",
        "allreduce,[2048,),ring,simple,-1,4,8",
    ]


@pytest.mark.parametrize("ranks", [8, 12, 32, 96])
def test_each_size_has_the_same_entry_in_both_files(ranks: int) -> None:
    """64 KiB are 682 B of each of 96 ranks and a rest, so that the range before ends at 681."""
    group = Group(ranks // 4, ranks)
    entries = [replace(entry, nodes=group.nodes, ranks=ranks) for entry in (TREE, RING)]
    shares = for_library(entries, Library.NCCLX)
    for size in (1 << 10, 60_000, 1 << 16, 1 << 30):
        chosen, same = (
            next(entry.algorithm for entry in of if entry.matches("allreduce", size, group))
            for of in (entries, shares)
        )
        assert chosen == same


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ranks": ANY}, "any group; expected nNodes and nRanks"),
        ({"pipe_ops": 1}, "numPipeOps or regBuff; expected -1 for both"),
        ({"min_bytes": 64, "max_bytes": 90}, "no share of a rank; expected a range of 32 B"),
    ],
)
def test_an_entry_without_a_form_for_ncclx_is_named(changes: dict[str, int], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        tuner_text([replace(TREE, **changes)], Library.NCCLX)  # type: ignore[arg-type]


@pytest.mark.parametrize("library", [Library.NCCL, Library.RCCL, Library.NCCLX])
def test_what_is_written_for_a_library_is_read_for_it(library: Library, tmp_path: Path) -> None:
    file = tmp_path / "tuner.csv"
    entries = [TREE, replace(RING, channels=8), replace(RING, collective="reduce", nodes=1)]
    file.write_text(tuner_text(entries, library))
    again = read_tuner(file, library)
    assert again == for_library(entries, library)
    assert tuner_text(again, library) == file.read_text()


@pytest.mark.parametrize(
    ("cell", "interval"),
    [
        ("*", Interval()),
        ("5", Interval(5, 5)),
        ("[0,4)", Interval(0, 3)),
        ("(1, )", Interval(2)),
        ("(,4]", Interval(None, 4)),
        ("[ 8388608 , 16777216 ]", Interval(8388608, 16777216)),
    ],
)
def test_intervals_of_ncclx_are_whole_numbers(
    cell: str, interval: Interval, tmp_path: Path
) -> None:
    file = tmp_path / "ncclx.csv"
    file.write_text(f"allgather,{cell},ring,ll128,-1,{cell},*,-1\n")
    (entry,) = read_tuner(file, Library.NCCLX)
    assert isinstance(entry, NcclxEntry)
    assert (entry.share, entry.nodes, entry.in_node) == (interval, interval, Interval())
    for number in (0, 1, 3, 4, 5, 10_000_000):
        is_first = interval.first is None or number >= interval.first
        assert (number in interval) == (is_first and (interval.last or number) >= number)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("allreduce,*,ring,ll", "fields: '4'; expected 7 to 9: collective,bytesPerRank,"),
        ("reduce,[0,8,ring,ll,-1,1,8", "brackets: '[0,8,ring,ll,-1,1,8'; expected each closed"),
        ("reduce,0],ring,ll,-1,1,8", "brackets: '],ring,ll,-1,1,8'; expected each closed"),
        ("reduce,0-8,ring,ll,-1,1,8", "bytesPerRank: '0-8'; expected *, a number, or an interval"),
        ("reduce,-1,ring,ll,-1,1,8", "bytesPerRank: '-1'; expected *, a number, or an interval"),
        ("reduce,*,ring,ll,-1,(1,2),8", "nNodes: '(1,2)'; expected an interval with a number in"),
        ("reduce,*,ring,ll,-1,1,[8;9]", "nLocalRanks: '[8;9]'; expected *, a number"),
        ("reduce,*,star,ll,-1,1,8", "algorithm: 'star'; expected one of tree, ring,"),
        ("reduce,*,ring,ll,-1,1,8,-1,1", "regBuff: '1'; expected -1, any; others are not simu"),
        ("reduce,*,ring,ll,-1,1,8,-1,-1,65536", "fields: '10'; expected 7 to 9"),
        ("reduce,0,8,ring,ll,-1,1,8", "algorithm: '8'; expected one of tree"),
    ],
)
def test_a_damaged_line_of_ncclx_is_named(line: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "ncclx.csv"
    file.write_text(f"# a comment\n{line}\n")
    with pytest.raises(InputError) as error:
        read_tuner(file, Library.NCCLX)
    assert f"line 2: {reason}" in str(error.value)


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


def test_lines_of_nccl_are_those_of_its_plug_in() -> None:
    assert tuner_text([TREE, RING]).splitlines()[1:] == [
        "allreduce,0,65535,tree,ll,-1,4,32,-1,-1",
        "allreduce,65536,18446744073709551615,ring,simple,-1,4,32,-1,-1",
    ]


def test_short_lines_match_any_call(tmp_path: Path) -> None:
    file = tmp_path / "nccl_tuner.conf"
    file.write_text("# a comment\n\nbroadcast, 0, 32768, tree, simple, -1, 1, -1\n")
    (entry,) = read_tuner(file)
    assert isinstance(entry, Entry)
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n" * 10_001, "10,001 lines; expected at most 10,000"),
        *(
            (text, "no entry; expected a line or more of collective_type")
            for text in ("", "\n", "# collective_type,min_bytes\n")
        ),
    ],
)
def test_a_file_of_no_or_many_lines_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "nccl_tuner.conf"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        read_tuner(file)
