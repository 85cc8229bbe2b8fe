"""A daemon's control socket, as ``ovs-appctl`` uses it, on one connection for many questions.

Questions and answers are JSON-RPC 1.0 objects one after the other, with nothing between them. The
daemon answers in order; a few questions are always under way, so that neither side waits.
"""

import codecs
import json
import socket
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

from etherweave.control.ovs.programs import OvsError

TIMEOUT_S = 60.0
"""Longest silence of a daemon [s]."""
_UNDER_WAY = 16
"""Questions without an answer: enough to hide waiting, few enough to fit the socket's buffer."""
_DECODER = json.JSONDecoder()
_READ = 1 << 18
_ANSWER_MAX = 1 << 26
"""Characters of an answer; longer ones are no trace of any fabric."""


class ControlSocket:
    """A connection to a daemon.

    Parameters
    ----------
    path
        The daemon's control socket.

    Raises
    ------
    OvsError
        If nobody listens there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = ""
        # Octets of one character may come apart.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(TIMEOUT_S)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise OvsError(f"{path}: {error.strerror}; expected a daemon's socket") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def ask(self, command: str, *arguments: str) -> str:
        """Ask one question.

        Raises
        ------
        OvsError
            If the daemon refuses, is silent or ends.
        """
        (answer,) = self.ask_all([(command, *arguments)])
        return answer

    def ask_all(self, questions: Iterable[tuple[str, ...]]) -> Iterator[str]:
        """Ask many questions, each a command and its arguments; answers come in the same order.

        Whoever stops early must not ask on this connection again: answers would still come.
        """
        under_way: deque[tuple[str, ...]] = deque()
        for question in questions:
            if len(under_way) == _UNDER_WAY:
                yield self._answer(under_way.popleft())
            self._send(question)
            under_way.append(question)
        while under_way:
            yield self._answer(under_way.popleft())

    def _send(self, question: tuple[str, ...]) -> None:
        command, *arguments = question
        message = {"id": 0, "method": command, "params": arguments}
        try:
            self._socket.sendall(json.dumps(message).encode())
        except OSError as error:
            raise OvsError(f"{self._path}: {error}; expected to be read") from None

    def _answer(self, question: tuple[str, ...]) -> str:
        answer = self._next()
        if answer.get("error") is not None:
            raise OvsError(f"{' '.join(question)}: {str(answer['error']).strip()}")
        return str(answer["result"])

    def _next(self) -> dict[str, Any]:
        while True:
            try:
                answer, end = _DECODER.raw_decode(self._read)
            except json.JSONDecodeError:
                self._receive()
                continue
            if not isinstance(answer, dict):
                raise OvsError(f"{self._path}: {answer!r}; expected a JSON object")
            self._read = self._read[end:].lstrip()
            return answer

    def _receive(self) -> None:
        if len(self._read) > _ANSWER_MAX:
            raise OvsError(f"{self._path}: no end of an answer after {_ANSWER_MAX} characters")
        try:
            octets = self._socket.recv(_READ)
        except TimeoutError:
            raise OvsError(f"{self._path}: silent for {TIMEOUT_S:.0f} s") from None
        if not octets:
            raise OvsError(f"{self._path}: the daemon has closed the connection")
        self._read += self._decoder.decode(octets)
