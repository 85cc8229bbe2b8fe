"""Executors of work: processes of this machine, a Dask cluster, arrays of Slurm.

Work is a function's name and tasks, each a key and an argument, which JSON can write. Answers come
in any order. A worker that dies is replaced and its task is tried again; a worker with a different
core version aborts the run. The calling process keeps the answers and workers keep none, except for
arrays of Slurm: their answers are files that outlast the calling process and are read by the next.
"""

import contextlib
import ctypes
import hashlib
import json
import logging
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from functools import partial
from importlib import import_module
from itertools import islice
from multiprocessing import connection
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from etherweave import _core
from etherweave.api.machine import build, usable_processors
from etherweave.sweeps.slurm import SlurmError, fate, lives, slurm

Task: TypeAlias = tuple[str, Any]  # A key that no other task has, and the argument of the function.
Answer: TypeAlias = dict[str, Any]
KINDS = ("local", "dask", "slurm")
TRIES = 2  # How often a task is tried whose worker dies without an answer.
ARRAY = 32  # Tasks of an array by default.
PATIENCE_S = 5.0  # Within which a process ends what it has started, such as switches of a lab [s].
_PAUSE_S = 0.05  # Between two looks for answers of an array [s].
_ASK_S = 2.0  # Between two questions to Slurm [s].
_LATE_S = 5.0  # Delay until a shared directory shows an answer, at most [s].
_DEATH = 1  # PR_SET_PDEATHSIG of prctl(2).


class WorkerError(Exception):
    """A task that was not done: its worker died, or the machine failed."""


class ExecutorError(ValueError):
    """Workers that cannot be started, or that have a different core version."""


class Executor(NamedTuple):
    """Carries out tasks."""

    name: str
    workers: int  # Processes, or tasks of an array; of a cluster that runs already, not used.
    carry_out: Callable[[str, Iterable[Task], Path, int], Iterator[tuple[str, Answer]]]

    def completed(
        self, function: str, tasks: Iterable[Task], home: Path
    ) -> Iterator[tuple[str, Any]]:
        """Carry out tasks; give each key with its result, or with a :class:`WorkerError`.

        The function is its module and name, as in ``"etherweave.sweeps.running:carry_out"``. Tasks
        are taken as workers become free. ``home`` is made when missing; all workers of Slurm see
        it. Raises ``ExecutorError`` when a worker's core differs.
        """
        for key, answer in self.carry_out(function, tasks, home, self.workers):
            if "refused" in answer:
                raise ExecutorError(
                    f"worker on {answer['refused']}; expected {build()}, as in this process"
                )
            yield key, WorkerError(answer["error"]) if "error" in answer else answer["result"]

    @contextlib.contextmanager
    def kept(self) -> Iterator["Executor"]:
        """Keep processes of this machine from one call of :meth:`completed` to the next."""
        if self.carry_out is not _local:
            yield self
            return
        idle = dict[str, list[_Worker]]()
        try:
            yield self._replace(carry_out=partial(_served, idle))
        finally:
            for workers in idle.values():
                _end(workers)


def executor(text: str = "local", workers: int | None = None) -> Executor:
    """Choose an executor: ``local``, ``dask``, ``dask=ADDRESS``, ``slurm``, ``slurm=OPTIONS``.

    Parameters
    ----------
    text
        Its kind, and of Dask the scheduler's address or file (by default, a cluster on this
        machine), of Slurm options of ``sbatch``.
    workers
        Processes, by default one for each processor; of Slurm tasks of an array, by default 32.

    Raises
    ------
    ValueError
        When there is no such kind.
    """
    kind, _, what = text.partition("=")
    if kind not in KINDS or (kind == "local" and what):
        raise ValueError(f"executor {text!r}; expected local, dask[=ADDRESS] or slurm[=OPTIONS]")
    if kind == "slurm":
        return Executor(kind, workers or ARRAY, _Array(shlex.split(what)).carry_out)
    processes = workers or usable_processors()
    return Executor(kind, processes, _Cluster(what).carry_out if kind == "dask" else _local)


def answer(function: str, expected: str, argument: Any) -> Answer:
    """Call a function in a worker, if its core is the expected one."""
    if build() != expected:
        return {"refused": f"{socket.gethostname()} is of {build()}"}
    module, _, name = function.partition(":")
    try:
        return {"result": getattr(import_module(module), name)(argument)}
    except (ValueError, OSError) as error:
        return {"error": str(error)}
    except _core.PanicException as panic:
        message, place = _core.take_fault() or (str(panic), "")
        return {"error": f"a fault of Etherweave: {message} ({place})"}
    except Exception:
        return {"error": traceback.format_exc()}


def serve(function: str, expected: str, descriptor: int) -> None:
    """Answer until whoever asks is gone, who also handles Ctrl-C, or terminates this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(AttributeError):  # Linux only.
        ctypes.CDLL(None).prctl(_DEATH, signal.SIGKILL)
    asked = connection.Connection(descriptor)
    with contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            asked.send(answer(function, expected, asked.recv()))


class _Worker:
    """A process of this machine, and what it does.

    It imports this module alone: a script without a main guard does not run again in it.
    """

    def __init__(self, function: str) -> None:
        self.line, other = connection.Pipe()
        arguments = (function, build(), other.fileno())
        modules = f"import sys; sys.path[:] = {sys.path!r}"
        program = f"{modules}; from {__spec__.name} import serve; serve{arguments!r}"
        with other:
            self.process = subprocess.Popen(
                [sys.executable, "-c", program], stdin=subprocess.DEVNULL, pass_fds=[other.fileno()]
            )
        self.task: Task = ("", None)

    def give(self, task: Task) -> None:
        self.task = task
        with contextlib.suppress(OSError):  # It has died, which its line reports.
            self.line.send(task[1])


def _served(
    kept: dict[str, list[_Worker]] | None,
    function: str,
    tasks: Iterable[Task],
    home: Path,
    workers: int,
) -> Iterator[tuple[str, Answer]]:
    """Carry out tasks by kept workers of the function first; those without a task are kept."""
    waiting, tries = iter(tasks), dict[str, int]()
    busy: list[_Worker] = []
    idle = [] if kept is None else kept.setdefault(function, [])
    try:
        for task in islice(waiting, workers):
            busy.append(idle.pop() if idle else _Worker(function))
            busy[-1].give(task)
        while busy:
            ready = connection.wait([worker.line for worker in busy])
            for worker in [worker for worker in busy if worker.line in ready]:
                busy.remove(worker)
                key, task = worker.task
                try:
                    reply = worker.line.recv()
                except (EOFError, OSError):
                    worker, reply = _replaced(worker, function, tries)
                if following := next(waiting, None) if reply else (key, task):
                    worker.give(following)
                    busy.append(worker)
                else:
                    idle.append(worker)
                    if kept is None:
                        worker.line.close()
                if reply:
                    yield key, reply
    finally:
        for worker in busy:
            worker.process.terminate()
        _end(busy if kept is not None else [*busy, *idle])


_local = partial(_served, None)  # Workers of this machine, for one call.


def _end(workers: Iterable[_Worker]) -> None:
    """End processes: one without a task ends by itself when its line is closed."""
    for worker in workers:
        worker.line.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.process.wait(PATIENCE_S)
        worker.process.kill()
        worker.process.wait()


def _replaced(
    worker: _Worker, function: str, tries: dict[str, int]
) -> tuple[_Worker, Answer | None]:
    """Start a worker in place of a dead one; with the answer for its task, if that is given up."""
    key = worker.task[0]
    exit_code = worker.process.wait()
    worker.line.close()
    tries[key] = tries.get(key, 0) + 1
    died = f"worker died with exit code {exit_code}, {TRIES} times"
    return _Worker(function), {"error": died} if tries[key] == TRIES else None


class _Cluster:
    def __init__(self, address: str) -> None:
        self.address = address

    def carry_out(
        self, function: str, tasks: Iterable[Task], home: Path, workers: int
    ) -> Iterator[tuple[str, Answer]]:
        distributed: Any = import_module("distributed")
        for name in ("client", "core", "batched", "comm"):  # The sentence below says it once.
            logging.getLogger(f"distributed.{name}").setLevel(logging.CRITICAL)
        try:
            with self._client(distributed.Client, workers) as client:
                yield from _submitted(distributed, client, function, tasks, workers)
        except (OSError, distributed.client.FutureCancelledError, CancelledError) as error:
            place = self.address or "on this machine"
            text = f": {error}" if str(error) else ""
            raise ExecutorError(f"no answer of the scheduler of Dask {place}{text}") from None

    def _client(self, kind: Any, workers: int) -> Any:
        if self.address.endswith(".json"):
            return kind(scheduler_file=self.address, timeout="10s")
        if self.address:
            return kind(self.address, timeout="10s")
        return kind(n_workers=workers, threads_per_worker=1, dashboard_address=None)


def _submitted(
    distributed: Any, client: Any, function: str, tasks: Iterable[Task], workers: int
) -> Iterator[tuple[str, Answer]]:
    waiting, keys = iter(tasks), dict[Any, str]()

    def submit(task: Task) -> Any:
        future = client.submit(answer, function, build(), task[1], pure=False)
        keys[future] = task[0]
        return future

    room = 2 * max(sum(client.nthreads().values()), workers)
    running = distributed.as_completed([submit(task) for task in islice(waiting, room)])
    for future in running:
        if task := next(waiting, None):
            running.add(submit(task))
        key = keys.pop(future)
        failure = None if future.status == "finished" else future.exception()
        yield key, {"error": repr(failure)} if failure else future.result()


class _Array:
    """Arrays of Slurm: tasks are files that all nodes see, and so are answers."""

    def __init__(self, options: list[str]) -> None:
        self.options = options

    def carry_out(
        self, function: str, tasks: Iterable[Task], home: Path, workers: int
    ) -> Iterator[tuple[str, Answer]]:
        home = home.absolute() / "slurm"
        home.mkdir(parents=True, exist_ok=True)
        name = f"etherweave-{hashlib.sha256(bytes(home)).hexdigest()[:12]}"
        left, read = dict(tasks), dict[Path, int]()
        yield from _new_answers(home, left, read)
        tries = 0
        while left and tries < TRIES:
            count = len(left)
            try:
                slurm("scancel", f"--name={name}", f"--user={os.geteuid()}")
                number = self._submit(name, function, left, home, workers)
            except SlurmError as error:
                raise ExecutorError(str(error)) from None
            try:
                yield from _until_over(partial(lives, number), home, left, read)
            finally:
                slurm("scancel", number)
            tries = 0 if len(left) < count else tries + 1
        for key in left:
            yield key, {"error": f"job {number}: left no answer; {fate(number)}"}
        shutil.rmtree(home)

    def _submit(
        self, name: str, function: str, left: Mapping[str, Any], home: Path, workers: int
    ) -> str:
        count = min(workers, len(left))
        for number in range(count):
            share = islice(left.items(), number, None, count)
            (home / f"tasks-{number}.jsonl").write_text("".join(map(_line, share)))
        script = home / "batch.sh"
        script.write_text('#!/bin/sh\nexec "$@"\n')
        program = [sys.executable, "-m", __name__, str(home), function, build()]
        words = ["sbatch", "--parsable", f"--job-name={name}", f"--array=0-{count - 1}"]
        output = f"--output={home}/batch-%a.out"
        return slurm(*words, output, *self.options, str(script), *program).split(";")[0].strip()


def _until_over(
    is_alive: Callable[[], bool], home: Path, left: dict[str, Any], read: dict[Path, int]
) -> Iterator[tuple[str, Answer]]:
    """Give answers as they come, until all are there or nobody is left to give one."""
    asked, end = time.monotonic(), float("inf")
    while left and time.monotonic() < end:
        new_answers = list(_new_answers(home, left, read))
        yield from new_answers
        if not new_answers:
            time.sleep(_PAUSE_S)
        if time.monotonic() > asked + _ASK_S and end == float("inf"):
            asked = time.monotonic()
            end = end if is_alive() else asked + _LATE_S


def _new_answers(
    home: Path, left: dict[str, Any], read: dict[Path, int]
) -> Iterator[tuple[str, Answer]]:
    """Read the whole lines that files of answers have had since the last time."""
    for path in sorted(home.glob("answers-*.jsonl")):
        with path.open("rb") as file:
            file.seek(read.get(path, 0))
            lines, end, _ = file.read().rpartition(b"\n")
        read[path] = read.get(path, 0) + len(lines) + len(end)
        for line in lines.splitlines():
            key, record = json.loads(line)
            if left.pop(key, None) is not None:
                yield key, record


def _line(pair: tuple[str, Any]) -> str:
    return json.dumps(pair) + "\n"


def main(home: Path, function: str, expected: str) -> None:
    """Carry out the tasks of an element of an array, on the processors that Slurm gives it."""
    number, job = os.environ["SLURM_ARRAY_TASK_ID"], os.environ["SLURM_JOB_ID"]
    lines = (home / f"tasks-{number}.jsonl").read_text().splitlines()
    tasks = [(key, argument) for key, argument in map(json.loads, lines)]
    with (home / f"answers-{job}-{number}.jsonl").open("a") as file:
        if build() != expected:
            refused = answer(function, expected, None)
            file.writelines(_line((key, refused)) for key, _ in tasks)
            return
        processes = int(os.environ.get("SLURM_CPUS_PER_TASK", "1"))
        for pair in _local(function, tasks, home, processes):
            file.write(_line(pair))
            file.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
