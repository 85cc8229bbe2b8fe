"""Counters of switches by what each kind prints, and gaps where one does not answer."""

import json
import sys
from contextlib import suppress
from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from etherweave.bench.campaigns.store import write_json
from etherweave.bench.environment.snapshot import FORMAT, Snapshot
from etherweave.bench.launchers.launcher import Ending, LaunchJob
from etherweave.bench.launchers.monitors import monitor_outputs
from etherweave.bench.launchers.registry import launcher
from etherweave.bench.programs.plans import BenchmarkCommand, Start
from etherweave.bench.site import reading
from etherweave.bench.site.values import SiteError, SiteSwitch
from etherweave.bench.telemetry.epochs import EPOCH, NAME, Epoch, switch_recorder
from etherweave.bench.telemetry.families import INTERFACE, PRIORITY, Family
from etherweave.bench.telemetry.process import RecordingOptions, record
from etherweave.bench.telemetry.recorder import rises
from etherweave.bench.telemetry.stream import stream
from etherweave.bench.telemetry.switches import READERS, PortCounters, SwitchSampler
from etherweave.bench.telemetry.tables import recordings, save
from support import command_line
from support.hostile import rounds
from support.waiting import until

SAI = {
    "SAI_PORT_STAT_IF_IN_OCTETS": "1000",
    "SAI_PORT_STAT_IF_OUT_OCTETS": "2000",
    "SAI_PORT_STAT_IF_IN_UCAST_PKTS": "8",
    "SAI_PORT_STAT_IF_IN_NON_UCAST_PKTS": "2",
    "SAI_PORT_STAT_IF_IN_DISCARDS": "1",
    "SAI_PORT_STAT_PAUSE_RX_PKTS": "N/A",
    "SAI_PORT_STAT_PFC_3_RX_PKTS": "5",
    "SAI_PORT_STAT_PFC_3_TX_PKTS": "6",
    "SAI_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US": "2500000",
    "SAI_PORT_STAT_ETHER_STATS_OVERSIZE_PKTS": "0",
}
OF_SAI = PortCounters(
    {"received_bytes": 1000, "sent_bytes": 2000, "received_packets": 10, "received_drops": 1},
    {3: {"received_pauses": 5, "sent_pauses": 6, "paused_s": 2.5}},
)
PORT = "oid:0x1000000000002"
SONIC = json.dumps(
    {
        "COUNTERS_PORT_NAME_MAP": {"type": "hash", "value": {"Ethernet0": PORT}},
        f"COUNTERS:{PORT}": {"type": "hash", "value": SAI},
        "COUNTERS:oid:0x21000000000000": {"type": "hash", "value": SAI},
    }
)
GNMI = json.dumps(
    [{"timestamp": 1, "updates": [{"values": {"COUNTERS/Ethernet*": {"Ethernet0": SAI}}}]}]
)
OPENCONFIG = json.dumps(
    [
        {
            "updates": [
                {
                    "Path": "interfaces/interface[name=Ethernet0]/state/counters",
                    "values": {
                        "interfaces/interface/state/counters": {
                            "in-octets": "1000",
                            "openconfig-interfaces:out-octets": "2000",
                            "in-unicast-pkts": "9",
                        }
                    },
                }
            ]
        }
    ]
)
PFC = """
  Port Rx    PFC0    PFC3
---------  ------  ------
Ethernet0       0   1,234
Ethernet4     N/A       7

  Port Tx    PFC0    PFC3
---------  ------  ------
Ethernet0       1       6
"""
WALK = """
.1.3.6.1.2.1.31.1.1.1.1.5 "Ethernet0"
.1.3.6.1.2.1.31.1.1.1.1.6 Vlan1
.1.3.6.1.2.1.31.1.1.1.6.5 1000
.1.3.6.1.2.1.31.1.1.1.7.5 8
.1.3.6.1.2.1.31.1.1.1.8.5 2
.1.3.6.1.2.1.31.1.1.1.10.5 2000
.1.3.6.1.2.1.2.2.1.13.5 1
.1.3.6.1.2.1.2.2.1.2.5 a port
.1.3.6.1.2.1.10.7.10.1.3.5 4
.1.3.6.1.2.1.10.7.10.1.3.9 4
"""
ONYX = """
Eth1/1:
Rx:
  10            packets
  8             unicast packets
  1,000         bytes
  1             discard packets
Tx:
  2000          bytes
"""
ONYX_PFC = """
Eth1/1
Rx
  70            bytes
  5             pause packets
  2500000       pause duration (micro seconds)
Tx
  6             pause packets
"""

TEXTS = {
    "onyx": ONYX,
    "openconfig": OPENCONFIG,
    "snmp": WALK,
    "sonic": SONIC,
    "sonic_cli": PFC,
    "sonic_gnmi": GNMI,
}
"""An answer to each reader, made by hand."""


def own(name: str, *answers: str) -> dict[str, PortCounters]:
    return dict(READERS[name].parse(answers))


@pytest.mark.parametrize(
    ("name", "answers", "port", "expected"),
    [
        ("sonic", (SONIC,), "Ethernet0", OF_SAI),
        ("sonic_gnmi", (GNMI,), "Ethernet0", OF_SAI),
        (
            "openconfig",
            (OPENCONFIG,),
            "Ethernet0",
            PortCounters({"received_bytes": 1000, "sent_bytes": 2000}),
        ),
        (
            "snmp",
            WALK.partition(".1.3.6.1.2.1.2.2")[::2],
            "Ethernet0",
            PortCounters(
                {
                    "received_bytes": 1000,
                    "sent_bytes": 2000,
                    "received_packets": 10,
                    "received_pauses": 4,
                }
            ),
        ),
        (
            "onyx",
            (ONYX, "", "", "", ONYX_PFC),
            "Eth1/1",
            PortCounters(
                {
                    "received_packets": 10,
                    "received_bytes": 1000,
                    "received_drops": 1,
                    "sent_bytes": 2000,
                },
                {
                    3: {
                        "received_bytes": 70,
                        "received_pauses": 5,
                        "paused_s": 2.5,
                        "sent_pauses": 6,
                    }
                },
            ),
        ),
    ],
)
def test_an_answer_gives_the_counters_of_each_port(
    name: str, answers: tuple[str, ...], port: str, expected: PortCounters
) -> None:
    assert own(name, *answers) == {port: expected}


def test_tables_of_pfc_counters_give_pauses_of_priorities() -> None:
    assert own("sonic_cli", PFC) == {
        "Ethernet0": PortCounters(
            {},
            {
                0: {"received_pauses": 0, "sent_pauses": 1},
                3: {"received_pauses": 1234, "sent_pauses": 6},
            },
        ),
        "Ethernet4": PortCounters({}, {3: {"received_pauses": 7}}),
    }


def test_walks_count_drops_of_the_second_table() -> None:
    assert own("snmp", WALK)["Ethernet0"].port["received_drops"] == 1


@pytest.mark.parametrize("reader", READERS.values(), ids=lambda reader: reader.name)
def test_columns_are_those_of_families_and_commands_are_words(reader: Any) -> None:
    assert all(reader.commands) and reader.of
    names = {column.name for family in (INTERFACE, PRIORITY) for column in family.columns}
    for counters in reader.parse([TEXTS[reader.name]] * 2).values():
        assert set(counters.port) <= names
        assert all(set(own) <= names for own in counters.priorities.values())


@pytest.mark.fuzz
@pytest.mark.parametrize(("name", "text"), TEXTS.items())
def test_a_damaged_answer_is_a_gap_or_counters(name: str, text: str) -> None:
    for chance in rounds(36):
        for _ in range(50):
            octets = bytearray(text.encode()[: chance.randrange(len(text))])
            for _ in range(chance.randrange(4) if octets else 0):
                octets[chance.randrange(len(octets))] = chance.randrange(256)
            with suppress(ValueError):
                READERS[name].parse((octets.decode(errors="replace"),))
    for odd in ("[" * 10_000, "[]", "null", "{}", '[{"updates": [{"values": 1}]}]'):
        with suppress(ValueError, RecursionError):
            READERS[name].parse((odd,))


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """A command line that counts how often it is asked, and fails the third time."""
    script = tmp_path / "switch.py"
    script.write_text(
        f"""
import pathlib, sys
asked = pathlib.Path({str(tmp_path / "asked")!r})
count = int(asked.read_text()) + 1 if asked.exists() else 1
asked.write_text(str(count))
if count == 3:
    sys.exit("connection refused")
print("Port Rx  PFC3")
print("Ethernet0", 100 * count)
"""
    )
    return script


def counted(family: Family, text: str) -> list[float | None]:
    at = [column.name for column in family.columns].index("received_pauses")
    samples = stream(text).recording.samples
    return [row.values[at] for sample in samples for row in sample.rows[family.name]]


def asked(home: Path) -> int:
    return int((home / "asked").read_text() or 0)


def test_a_switch_that_does_not_answer_leaves_a_gap(fake: Path, tmp_path: Path) -> None:
    out = StringIO()
    ask = (sys.executable, str(fake))
    options = RecordingOptions("run", "leaf0", period_s=0.05, switch="sonic_cli", ask=ask)

    def wait(limit_s: float) -> None:
        until(lambda: asked(tmp_path) >= 5)

    recording = record(options, out, wait)
    pauses = counted(PRIORITY, out.getvalue())
    assert pauses[:3] == [100, 200, 400]
    assert recording.host == "leaf0"
    # Kernel, processor and counters of the machine that asks are not the switch's.
    before, after = stream(out.getvalue()).before, stream(out.getvalue()).after
    assert after and before == Snapshot(FORMAT, "leaf0", "leaf0", before.taken_s)
    assert after == replace(before, taken_s=after.taken_s)
    failure = stream(out.getvalue()).recording.failure
    assert failure.startswith("no answer in 1 of ")
    assert failure.endswith("ended with 1: connection refused")
    save(stream(out.getvalue()).recording, tmp_path / "kept")
    (kept,) = recordings(tmp_path / "kept")
    (rise,) = rises(kept)
    last = pauses[-1]
    assert last is not None
    assert (rise.thing, rise.column, rise.amount) == ("Ethernet0 3", "received_pauses", last - 100)


def test_a_switch_that_never_answered_is_listed_with_its_gap(tmp_path: Path) -> None:
    home = tmp_path / "run" / "leaf0"
    home.mkdir(parents=True)
    epoch = Epoch("run", "leaf0", "", "no answer in 2 of 2 samples: refused", samples=2)
    write_json(home / EPOCH, asdict(epoch))
    show = ("bench", "telemetry", "show", str(tmp_path))
    printed = command_line.invoke(*show, code=0).stdout
    assert printed == "run leaf0: not recorded: no answer in 2 of 2 samples: refused\n"
    (facts,) = json.loads(command_line.invoke(*show, "--json", code=0).stdout)
    assert (facts["host"], facts["samples"], facts["rises"]) == ("leaf0", 2, [])


def test_an_unreachable_switch_does_not_end_the_recording() -> None:
    python = (sys.executable, "-c")
    for reader, ask, reason in (
        ("snmp", ("/no/such/program",), "no answer in 1 of 1 samples: [Errno 2]"),
        ("sonic_cli", (*python, "print('hello')"), "answer; expected the tables of show"),
        ("sonic", (*python, "print('{')"), "answer cut, or no JSON: Expecting"),
        ("snmp", (*python, "import os; os.kill(os.getpid(), 15)"), "when the launch ended"),
    ):
        sampler = SwitchSampler(READERS[reader], ask)
        assert not any(sampler().rows.values())
        assert reason in sampler.failure


SITE = """
launcher = { kind = "local" }
hosts = { n1 = {} }
switches.leaf0 = { reader = "sonic_cli", ask = ["ssh", "admin@leaf0"] }
"""


def test_a_site_names_its_switches() -> None:
    assert reading.site(SITE, "site.toml").switches == (
        SiteSwitch("leaf0", "sonic_cli", ("ssh", "admin@leaf0")),
    )


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("sonic_cli", "sonics", "switches.leaf0.reader: 'sonics'; expected one of onyx, "),
        (', ask = ["ssh", "admin@leaf0"]', "", "switches.leaf0.ask: is missing"),
        ("leaf0 =", "n1 =", "switches.n1: expected a name .* that no host has"),
        ("ask", "asks", "switches.leaf0.asks: unknown key"),
    ],
)
def test_a_mistake_in_a_switch_is_named(before: str, after: str, message: str) -> None:
    with pytest.raises(SiteError, match=message):
        reading.site(SITE.replace(before, after, 1), "site.toml")


def test_a_launch_records_its_switches_from_this_machine(fake: Path, tmp_path: Path) -> None:
    switch = SiteSwitch("leaf0", "sonic_cli", (sys.executable, str(fake)))
    place = tmp_path / "launch"
    place.mkdir()
    command = BenchmarkCommand(Start.ALONE, ("sleep", "0.3"))
    job = LaunchJob(command, ("n1",), 1, place, 60.0, monitors=(switch_recorder(switch, 0.1),))
    assert launcher(reading.site(SITE, "site.toml")).launch(job).ending is Ending.DONE
    (output,) = monitor_outputs(job, NAME)
    assert output.times.host == "leaf0" and output.times.ready_ns
    assert counted(PRIORITY, output.text)[:2] == [100, 200]
