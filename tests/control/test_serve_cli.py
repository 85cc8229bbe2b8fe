"""The verbs ``control serve`` and ``control diff``, as processes, and TLS."""

import json
import signal
import socket
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from etherweave.control.messages import MessageType
from etherweave.control.plan import plan
from support import command_line, needs
from support.controlled import PATIENCE_S
from support.fake_switch import FakeSwitch
from support.waiting import until

SCENARIO = "[topology.single_switch]\nhosts = 2\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "switch.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


def words(*arguments: str) -> list[str]:
    return [*command_line.COMMAND, "control", *arguments]


ended = partial(command_line.invoke, "control")


class Process:
    def __init__(self, *arguments: str) -> None:
        command = words("serve", "--listen", "127.0.0.1:0", *arguments)
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.listening = self.event("listening")

    @property
    def port(self) -> int:
        return int(self.listening["port"])

    def event(self, event: str) -> dict[str, Any]:
        assert self.process.stderr
        for line in self.process.stderr:
            result: dict[str, Any] = json.loads(line)
            if result["event"] == event:
                return result
        raise AssertionError(f"the controller has ended without {event}")

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def start() -> Iterator[Any]:
    """Start controllers, and end them whatever happens."""
    started: list[Process] = []

    def starting(*arguments: str) -> Process:
        started.append(Process(*arguments))
        return started[-1]

    yield starting
    for process in started:
        process.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_controllers_cleanly(file: Path, start: Any, number: signal.Signals) -> None:
    server = start(str(file))
    with FakeSwitch(server.port, 1) as switch:
        server.event("installed")
        server.process.send_signal(number)
        assert server.process.wait(PATIENCE_S) == 0
        until(lambda: switch.is_over, "the switch has noticed")
        # Rules stay: nothing was deleted.
        assert switch.committed == 1


def test_metrics_are_text_that_prometheus_reads(file: Path, start: Any) -> None:
    server = start(str(file), "--metrics-port", "0")
    with FakeSwitch(server.port, 1):
        result = server.event("installed")
        address = f"http://127.0.0.1:{server.listening['metrics_port']}/metrics"
        with urllib.request.urlopen(address, timeout=PATIENCE_S) as answer:
            lines = answer.read().decode().splitlines()
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert values['etherweave_switch_connected{switch="switch0"}'] == "1.0"
    assert float(values['etherweave_rules_installed_total{switch="switch0"}']) == result["rules"]
    assert values["etherweave_master"] == "1.0"


def test_a_dry_run_prints_every_missing_rule_and_changes_nothing(file: Path, start: Any) -> None:
    server = start(str(file), "--dry-run", "--probe", "0.1s")
    with FakeSwitch(server.port, 1) as switch:
        said, _ = server.process.communicate(timeout=PATIENCE_S)
        assert (switch.added, switch.committed) == (0, 0)
        assert MessageType.FLOW_MOD not in switch.seen
    (planned,) = plan(str(file)).plan.switches
    assert server.process.returncode == 1
    lines = said.splitlines()
    assert sum(line.startswith("switch0: + table=") for line in lines) == len(planned.rules)
    assert sum(line.startswith("switch0: + meter=") for line in lines) == len(planned.meters)


def test_a_dry_run_lists_switches_that_do_not_connect(file: Path) -> None:
    listen = ("--listen", "127.0.0.1:0")
    done = ended(
        "serve", str(file), *listen, "--dry-run", "--wait", "0.1s", "--probe", "0.1s", code=1
    )
    assert done.stdout == "switch0: not connected\n"


@pytest.mark.parametrize(
    ("arguments", "mistake"),
    [
        (["--listen", "0.0.0.0:0"], "plain TCP only on the loopback interface"),
        (["--listen", "[::]:0"], "plain TCP only on the loopback interface"),
        (["--listen", "localhost:0"], "localhost: expected an IP address"),
        (["--listen", "127.0.0.1"], "expected ADDRESS:PORT"),
        (["--tls-key", "key.pem"], "expected all of --tls-key, --tls-certificate and --tls-ca"),
        (["--json"], "expected with --dry-run only"),
        (
            [f"--tls-{part}={__file__}" for part in ("key", "certificate", "ca")],
            "expected a certificate and its key in PEM",
        ),
    ],
)
def test_a_mistake_is_a_line_with_a_remedy(file: Path, arguments: list[str], mistake: str) -> None:
    done = ended("serve", str(file), *arguments, code=2)
    assert mistake in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_address_that_is_taken_is_a_mistake(file: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        listen = ended("serve", str(file), "--listen", f"127.0.0.1:{port}")
        metrics = ended("serve", str(file), "--listen", "127.0.0.1:0", "--metrics-port", str(port))
    for done in (listen, metrics):
        assert done.exit_code == 2
        assert f"127.0.0.1:{port}: Address already in use" in done.stderr


def test_plans_differ_by_their_rules(file: Path) -> None:
    done = ended("diff", str(file), "--to", "control.dmp_rate=20", "--json")
    assert done.exit_code == 1
    # Two hosts, a meter each.
    assert json.loads(done.stdout) == {
        "switch0": {
            "add": [],
            "change": [
                f"meter={port},pktps,burst,bands=type=drop,rate=20,burst_size=20" for port in (1, 2)
            ],
            "remove": [],
        }
    }


def test_a_plan_without_a_second_is_a_mistake(file: Path) -> None:
    assert ended("diff", str(file)).exit_code == 2


@pytest.fixture(scope="module")
def identities(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an authority, and keys and certificates of a controller, a switch and a stranger."""
    needs.require("openssl")
    here = tmp_path_factory.mktemp("tls")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=here, check=True, capture_output=True)

    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    for name in ("ca", "stranger"):
        openssl("req", "-x509", *curve, "-keyout", f"{name}.key", "-out", f"{name}.pem",
                "-days", "2", "-subj", f"/CN={name}")  # fmt: skip
    for name in ("controller", "switch"):
        openssl(
            "req", *curve, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}"
        )
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                "-CAcreateserial", "-out", f"{name}.pem", "-days", "2")  # fmt: skip
    return here


def tls(identities: Path) -> list[str]:
    files = {"key": "controller.key", "certificate": "controller.pem", "ca": "ca.pem"}
    return [
        word for name, file in files.items() for word in (f"--tls-{name}", str(identities / file))
    ]


def client(identities: Path, name: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=identities / "ca.pem")
    context.check_hostname = False
    context.load_cert_chain(identities / f"{name}.pem", identities / f"{name}.key")
    return context


def test_a_certified_switch_is_programmed_by_tls(file: Path, start: Any, identities: Path) -> None:
    server = start(str(file), *tls(identities))
    assert server.listening["tls"]
    with FakeSwitch(server.port, 1, tls=client(identities, "switch")) as switch:
        server.event("installed")
        assert switch.committed == 1


def test_an_uncertified_switch_is_rejected(file: Path, start: Any, identities: Path) -> None:
    server = start(str(file), *tls(identities))
    context = client(identities, "stranger")
    # In TLS 1.3 a client learns after its handshake that it is refused.
    with (
        pytest.raises((ssl.SSLError, ConnectionError)),
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as plain,
        context.wrap_socket(plain) as peer,
    ):
        peer.recv(8)
    assert "certificate" in server.event("rejected")["reason"].lower()


def test_plain_tcp_is_refused_where_tls_is_wanted(file: Path, start: Any, identities: Path) -> None:
    server = start(str(file), *tls(identities))
    with FakeSwitch(server.port, 1) as switch:
        assert server.event("rejected")
        until(lambda: switch.is_over, "the switch is refused")
