"""Reads the tables of a switch, and changes them in one bundle: all of a change, or none."""

from collections.abc import Iterable, Iterator
from itertools import islice

from etherweave.control.controller import reports
from etherweave.control.controller.drift import TableChange, TableChanges, describe
from etherweave.control.controller.reports import ReportedTables, ReportPart, SwitchReportError
from etherweave.control.controller.session import Exchange, SwitchReply, SwitchSession
from etherweave.control.messages import (
    BundleStep,
    MessageType,
    barrier,
    bundle_add,
    bundle_step,
    with_xid,
)

ANSWER_S = 30.0  # Longest wait for a reply [s]: the commit of a large bundle is the slowest.
_AT_ONCE = 200  # Messages in one write: some 30 thousand octets.
_OCTETS_MAX = 1 << 28  # Size of a report: two million rules [bytes].

_ERRORS = {
    (1, 10): "another controller is its master",
    (5, 1): "table full",
    (5, 2): "no such table",
    (5, 5): "permission denied",
    (6, 3): "no more groups",
    (12, 1): "meter exists",
    (12, 3): "no such meter",
    (12, 9): "no more meters",
}
"""``ofp_error_msg`` type and code in words, for those that switches are likely to send."""
IS_SLAVE = (1, 10)
_TYPES = {
    1: "bad request", 2: "bad action", 3: "bad instruction", 4: "bad match", 5: "flow rejected",
    6: "group rejected", 11: "role rejected", 12: "meter rejected", 0xFFFF: "experimenter's error",
}  # fmt: skip


class InstallError(Exception):
    """A switch rejects a change; its tables are as they were before.

    ``about`` is the entry that it rejects, ``code`` the type and code of its error.
    """

    def __init__(self, about: str, code: tuple[int, int]) -> None:
        super().__init__(f"{about}: {error_text(code)}")
        self.code = code


def error_text(code: tuple[int, int]) -> str:
    """Describe an error, with its numbers."""
    words = _ERRORS.get(code) or _TYPES.get(code[0], "error")
    return f"{words} (type {code[0]}, code {code[1]})"


def read_tables(session: SwitchSession) -> ReportedTables:
    """Read all entries, groups and meters of a switch.

    Raises ``DisconnectedError`` when it is not connected any more, or does not reply;
    ``SwitchReportError`` when its report cannot be read.
    """
    entries = tuple(
        row for octets in _read_part(session, ReportPart.FLOWS) for row in reports.entries(octets)
    )
    groups: dict[int, bytes] = {}
    meters: dict[int, bytes] = {}
    for octets in _read_part(session, ReportPart.GROUPS):
        groups |= reports.groups(octets)
    for octets in _read_part(session, ReportPart.METERS):
        meters |= reports.meters(octets)
    return ReportedTables(entries, groups, meters)


def install(session: SwitchSession, steps: TableChanges) -> None:
    """Change a switch.

    Raises ``InstallError`` when it rejects the change; nothing has changed then;
    ``DisconnectedError`` when it is not connected any more; an open bundle ends with the
    connection.
    """
    _apply(session, steps.meters)
    try:
        _install_bundle(session, steps.bundle)
    except InstallError:
        cleanup = [TableChange(step.about, step.cleanup) for step in steps.meters]
        _apply(session, cleanup)
        raise
    _apply(session, steps.meters_left)


def _read_part(session: SwitchSession, part: ReportPart) -> Iterator[bytes]:
    octets_left = _OCTETS_MAX
    with session.exchange(1) as exchange:
        exchange.send(reports.request(part, exchange.first))
        more = True
        while more:
            answer = exchange.answer(ANSWER_S)
            if answer.kind is MessageType.ERROR:
                if part is ReportPart.METERS and answer.error[0] == 1:
                    return  # A switch without meters.
                raise InstallError(f"a request for {part.name.lower()}", answer.error)
            octets_left -= len(answer.octets)
            if octets_left < 0:
                raise SwitchReportError(f"more than {_OCTETS_MAX} octets of {part.name.lower()}")
            more, body = reports.answer(answer.octets)
            yield body


def _apply(session: SwitchSession, steps: Iterable[TableChange]) -> None:
    """Send messages one by one and wait for the switch; on an error, undo those it accepted."""
    batch = tuple(steps)
    if not batch:
        return
    with session.exchange(len(batch) + 1) as exchange:
        for octets in _numbered_messages(batch, exchange):
            exchange.send(octets)
        exchange.send(barrier(exchange.xids[-1]))
        rejected = list(_errors(exchange))
    if not rejected:
        return
    bad = {answer.xid - exchange.first for answer in rejected}
    cleanup = [
        TableChange(step.about, step.cleanup)
        for place, step in enumerate(batch)
        if place not in bad and step.cleanup
    ]
    _apply(session, cleanup)
    raise InstallError(describe(batch[min(bad)].about), rejected[0].error)


def _errors(exchange: Exchange) -> Iterator[SwitchReply]:
    while (answer := exchange.answer(ANSWER_S)).kind is not MessageType.BARRIER_REPLY:
        if answer.kind is MessageType.ERROR:
            yield answer


def _install_bundle(session: SwitchSession, steps: tuple[TableChange, ...]) -> None:
    if not steps:
        return
    with session.exchange(len(steps) + 3) as exchange:
        bundle = exchange.first & 0x7FFFFFFF
        opened, committed, discarded = exchange.xids[-3:]
        exchange.send(bundle_step(bundle, BundleStep.OPEN, xid=opened))
        _await_bundle_reply(exchange, BundleStep.OPENED, steps, opened)
        try:
            for octets in _numbered_messages(steps, exchange, bundle):
                exchange.send(octets)
                answer = exchange.pending()
                if answer and answer.kind is MessageType.ERROR:
                    raise _install_error(answer, exchange, steps)
            exchange.send(bundle_step(bundle, BundleStep.COMMIT, xid=committed))
            _await_bundle_reply(exchange, BundleStep.COMMITTED, steps, committed)
        except InstallError:
            exchange.send(bundle_step(bundle, BundleStep.DISCARD, xid=discarded))
            raise


def _await_bundle_reply(
    exchange: Exchange, step: BundleStep, steps: tuple[TableChange, ...], xid: int
) -> None:
    """Wait for a confirmation; an error about a rule is raised at once."""
    while True:
        answer = exchange.answer(ANSWER_S)
        if answer.kind is MessageType.ERROR:
            raise _install_error(answer, exchange, steps)
        if answer.xid == xid and answer.bundle_step == step:
            return


def _install_error(
    answer: SwitchReply, exchange: Exchange, steps: tuple[TableChange, ...]
) -> InstallError:
    place = answer.xid - exchange.first
    if place < len(steps):
        return InstallError(describe(steps[place].about), answer.error)
    return InstallError("a bundle (ONF extension 230)", answer.error)


def _numbered_messages(
    steps: tuple[TableChange, ...], exchange: Exchange, bundle: int | None = None
) -> Iterator[bytes]:
    """Write messages with the transaction ids of an exchange, many at once."""
    messages = (with_xid(step.octets, xid) for step, xid in zip(steps, exchange.xids, strict=False))
    wrapped = messages if bundle is None else (bundle_add(bundle, message) for message in messages)
    while text := b"".join(islice(wrapped, _AT_ONCE)):
        yield text
