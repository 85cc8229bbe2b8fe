"""The verb ``control agent``."""

import etherweave
from etherweave.api.units import rate_of
from etherweave.cli.control.parameters import Failed, switch_of, warned_plan
from etherweave.cli.exits import mistakes, notice, reject
from etherweave.cli.parameters import File, Settings
from etherweave.control.pause.agent import AgentError, serve
from etherweave.control.pause.frame import RatedInterface, quantum_ps
from etherweave.control.pause.rule_writer import RuleWriterError
from etherweave.control.pause.vector import VectorError
from etherweave.control.plan import FabricPlanError
from etherweave.control.rules import SwitchPlan
from etherweave.linux.processes import ending

MISTAKES = (etherweave.ScenarioError, FabricPlanError, VectorError, AgentError)


def agent_verb(
    file: File,
    *,
    switch: str,
    connect: str,
    port: list[str],
    rate: str = "100Gb/s",
    failed: Failed = None,
    settings: Settings = None,
) -> None:
    """Deactivate conditional rules of an OpenFlow switch while their ports are paused.

    Receives PAUSE and PFC frames at the switch's interfaces, as root, until it is interrupted; then
    no port counts as paused. Exit code 1: the switch has disconnected; 2: a mistake.

    Parameters
    ----------
    switch : SWITCH
        Name of the switch in the plan.
    connect : unix:PATH
        OpenFlow socket of the switch, BRIDGE.mgmt.
    port : NUMBER=INTERFACE
        Interface of a port whose pauses are received; repeatable.
    rate : RATE
        Rate of these links, in which pause quanta count.
    """
    interfaces = _interfaces(port, rate)
    with mistakes(*MISTAKES, failures=(RuleWriterError,)):
        planned = warned_plan(file, settings, failed)
        chosen = switch_of(planned.installed, switch)
        _check(chosen, interfaces)
        with ending() as stop:
            totals = serve(chosen, interfaces, connect, stop, lambda: notice("listening"))
    print(f"pauses received: {totals.frames:,}, rules changed: {totals.changes:,}")


def _check(switch: SwitchPlan, interfaces: dict[int, RatedInterface]) -> None:
    unwatched = sorted(interfaces.keys() - switch.pause_bits.keys())
    if switch.pause_bits and unwatched:
        watched = ", ".join(map(str, sorted(switch.pause_bits)))
        reject(
            f"--port {unwatched[0]}: no rule of {switch.name} depends on it; "
            f"expected one of {watched}"
        )


def _interfaces(ports: list[str], rate: str) -> dict[int, RatedInterface]:
    with mistakes(ValueError, before="--rate "):
        bits_per_s = round(8 * rate_of(rate))
    with mistakes(ValueError, before=f"--rate {rate}: "):
        quantum_ps(bits_per_s)
    pairs = [(word, *word.partition("=")) for word in ports]
    for word, number, _, interface in pairs:
        if not (number.isascii() and number.isdigit() and interface):
            reject(f"--port {word}: expected NUMBER=INTERFACE, such as 3=swp3")
    return {int(number): RatedInterface(interface, bits_per_s) for _, number, _, interface in pairs}
