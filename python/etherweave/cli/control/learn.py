"""The verb ``control learn``."""

import signal
import threading
from dataclasses import replace
from pathlib import Path

import etherweave
from etherweave.api.outputs import write_text
from etherweave.api.units import counted
from etherweave.cli.control import parameters
from etherweave.cli.control.plan import print_counts
from etherweave.cli.exits import mistakes
from etherweave.cli.parameters import Positive, Settings, output_file, seconds
from etherweave.control.plan import FabricPlanError
from etherweave.linux.processes import handled


def learn(
    *,
    output: Path,
    switches: Positive | None = None,
    wait: str = "30s",
    probe: parameters.Probe = "1s",
    listen: parameters.Listen = "127.0.0.1:6653",
    tls_key: parameters.TlsKey = None,
    tls_certificate: parameters.TlsCertificate = None,
    tls_ca: parameters.TlsAuthority = None,
    settings: Settings = None,
) -> None:
    """Discover how OpenFlow switches are wired, write it as a scenario, and plan it.

    Installs one rule in each switch, which hands LLDP to the controller, and removes it again. A
    port with a link where no probe arrives leads to a host. Exit code 1: the fabric cannot be
    learned or planned; 2: a mistake.

    Parameters
    ----------
    output : -o FILE.toml
        Scenario to write.
    switches : NUMBER
        Number of switches; default: as many as connect while it waits.
    wait : TIME
        Longest wait for switches to connect.
    """
    from etherweave.control.controller.learning import FabricLearner, LearningError
    from etherweave.control.controller.log import EventLog
    from etherweave.control.controller.server import ListenError

    output_file("--output", output, ".toml")
    with mistakes():
        options = parameters.controller_options(listen, (tls_key, tls_certificate, tls_ca))
    options = replace(options, probe_s=seconds("--probe", probe, (0.1, 1e9)))
    wait_s = seconds("--wait", wait, (0, 1e9))
    stop = threading.Event()
    failures = (LearningError, etherweave.ScenarioError, FabricPlanError)
    with mistakes(ListenError, failures=failures):
        with handled((signal.SIGTERM, signal.SIGINT), lambda *_: stop.set()):
            learned = FabricLearner(options, EventLog()).learn(switches, wait_s, stop)
        write_text(output, learned.scenario(output.stem))
        planned = parameters.warned_plan(output, settings)
    kinds = {"switch": learned.datapaths, "cable": learned.cables, "host": learned.hosts}
    print(f"{output}: {', '.join(counted(len(all_), noun) for noun, all_ in kinds.items())}")
    print_counts(planned)
