"""Abnormal ends: what programs, launchers, batch systems and kernels print when a run dies.

Messages are of two kinds. Some say on their own that a process died. Others only say that
something failed: they count behind the last row, where nothing but the end should be.
"""

import re
from collections.abc import Iterable

from etherweave.measurements.benchmark_report import TextLine

_ANYWHERE = (
    # The process and its signals.
    r"[Ss]egmentation fault|\bSIGSEGV\b|\bsegfault at\b|Caught (?:signal|error)\b",
    r"[Pp]rocess received signal|[Ee]xit(?:ed|ing)?(?: with| on)? signal|KILLED BY SIGNAL",
    r"\b(?:[Tt]erminated by|[Tt]erminated with|[Dd]ied from|[Kk]illed by|failed with) signal",
    r"core dumped|dumped core|[Bb]us error|[Ii]llegal instruction",
    r"[Ff]loating[ -]point exception|forrtl: severe|\*\*\* stack smashing|double free or corrup",
    r"^(?:\S+: line \d+: +\d+ )?(?:Killed|Aborted|Terminated|Hangup|Alarm clock|Quit)\b",
    r"(?:free|malloc\w*|realloc|corrupted \S+|munmap_chunk)\(\): ",
    r"corrupted size vs|terminate called",
    r"Abort trap|User defined signal|Unhandled exception|sending signal [A-Z]+ to command",
    r"error while loading shared libraries|^\w+(?: of \S+)? failed: ",
    r"[Aa]ssertion\b.*\bfailed|[Aa]ssertion failed|\bassert \(.*\) failed|ASSERT\w* FAILED",
    r"Traceback \(most recent call last\)|std::bad_alloc|thread '.*' panicked|^panic: ",
    r"ERROR: \w+Sanitizer|Fortran runtime error|ERROR STOP|Error termination\.|^ *STOP +[1-9]\d*$",
    r"UNRECOVERABLE|Signal code: |Failing at address: |not enough memory|[Ff]ile size limit exceed",
    r"\bOutOfMemory\w*|^(?:MemoryError|KeyboardInterrupt)\b|FIO-F-\d|atpAppSig|ATP Stack walk",
    # Disks and memory.
    r"No space left on device|Disk quota exceeded|Stale (?:NFS )?file handle",
    r"general protection|blocked for more than \d+ s|going down for (?:re|power|halt|maint)|Xid \d",
    r"Cannot allocate memory|soft lockup|fallen off the bus|Memory access fault by GPU",
    # MPI and its launchers.
    r"MPI_A[Bb][Oo][Rr][Tt]\b(?! *=)|internal ABORT|^[Aa]bort\(\d+\)|aborting (?:the )?job",
    r"[Ff]atal error in\b|MPI_ERRORS_ARE_FATAL|An error occurred in (?:MPI_|a )|PMI2?_Abort",
    r"BAD TERMINATION|APPLICATION TERMINATED WITH THE EXIT STRING|terminated badly",
    r"\bEXIT (?:CODE|STATUS): [1-9]|process returned a non-zero exit code",
    r"exited with (?:a )?non-?zero (?:exit )?(?:status|code)|has exited due to process rank",
    r"(?:prterun|mpirun|mpiexec|orterun) (?:noticed that|detected that one)",
    r"collective abort of all ranks|MPI process died|mpirun was unable to|exited due to signal",
    r"MPI will try to terminate|MPI_INIT failed|retry count .*exceeded|has unexpectedly failed",
    r"initiated application termination|Application \d+ (?:is crashing|exit (?:codes?|signals?):)",
    r"Primary job +terminated normally|unable to (?:reliably )?start|killing job\b|MPICH ERROR",
    r"lost (?:communication|connection)|exit signal [A-Z]|[Oo]ne or more process\w* .*terminated",
    r"disallowed by the MPI standard|MPI_Init\(\) function was called|unexpected process ident",
    r"non-zero (?:status|exit (?:code|status))|finalizing improperly|exiting improperly",
    # Batch systems and containers.
    r"DUE TO (?:TIME LIMIT|PREEMPTION|NODE|JOB|TASK|STEP|SIGNAL)|\*\*\* (?:JOB|STEP) .*CANCEL",
    r"srun: error: .*(?:[Ee]xited|Killed|Aborted|Terminated|Out Of Memory|fault|error|Timed out)",
    r"forcing job termination|Forwarding signal \d|[Ss]ending Ctrl-C to|\bgot SIG[A-Z]+",
    r"srun: (?:Job step aborted|Terminating|Force Terminated)|Job step aborted",
    r"slurmstepd: error: .*(?:\*\*\*|oom|OOM|[Kk]illed|memory limit)|\bNODE[ _]FAIL(?:URE)?\b",
    r"[Jj]ob allocation \d+ has been revoked|exceeded \S*(?: \S+)? ?limit|[Jj]ob killed",
    r"[Jj][Oo][Bb] \S+ (?:CANCELL?ED|[Kk]illed|[Tt]erminated)|\bOUT_OF_MEMORY\b",
    r"[Bb]uild (?:timed out|step .* as failure)|^Finished: (?:FAILURE|ABORTED)|^##\[error\]",
    r"\b[Jj]ob was (?:evicted|held|removed|aborted)|PJM-KILL|\bjwe\d{4}i-u|BackoffLimitExceeded",
    r"exceeded (?:the |hard |soft |its )?(?:\w+ ){0,3}(?:time|limit)\b|interrupt signal to process",
    r"job\.exception|flux-job: .*(?:exited|killed|fail)|resource allocation expired",
    r"[Ee]xit(?:ed)?(?: with)?:? (?:exit )?(?:code|status)[: ]+[1-9]|returned exit code [1-9]",
    r"[Cc]ommand (?:terminated|exited) (?:by|with) (?!.*\b(?:code|status) 0\b)|OOMKilled|Evicted",
    # The kernel.
    r"[Oo]ut of memory: Kill|oom[-_]kill|OOM[ -]kill|[Oo]om-kill|Memory cgroup out of memory",
    # Libraries and programs.
    r"Test (?:NCCL|CUDA|HIP|MPI) failure|Test failure \S|NCCL (?:failure|error)|Test timeout",
    r"nccl(?:System|Internal|Remote|UnhandledCuda|UnhandledHip)Error|ncclInvalid(?:Usage|Argument)",
    r"unhandled (?:system|cuda|hip) error|(?:CUDA|HIP|Hip) error\b",
    r"NCCL WARN .*(?:completion|error|fail|[Tt]imeout|unreachable)|retry count exceeded",
    r"Host key verification failed|device's health compromised|closed by remote host",
    r"No messages were received|illegal memory access",
    r"DATA VALIDATION ERROR|HPL ERROR|PANIC",
    r"NCCL WARN Mismatched collective|fi_cq_readerr|^(?:[\da-f]{8} ){3}[\da-f]{8}$",
    r"CLEANING UP REMAINING PROCESSES|^At line \d+ of file \S+",
    r"[Ff]ailed to complete run_iter|[Cc]ompletion with error|Failed status \d+: wr_id",
    r"[Tt]est exited with Error|Error occurred while running|run ended with error",
    r"iperf3?: (?:error|interrupt) - |(?:write|read|recv|send)\d? failed: ",
)
_DEATH = re.compile("|".join(_ANYWHERE))
_WORDS = (
    *("fault", "signal", "segv", "core dump", "dumped", "error", "illegal", "exception", "severe"),
    *("smash", "corrupt", "kill", "abort", "terminat", "hangup", "alarm", "quit", "assert", "trac"),
    *("bad_alloc", "panic", "fatal", "exit", "lost co", "cancel", "due to", "fail", "revoked"),
    *("exceeded", "expired", "evicted", "memory", "timeout", "closed by", "no messages", "died"),
    *("timed out", "time out", "time-out", "broken pipe", "reset by", "interrupt", "unrecoverable"),
    *("unable to", "(): ", "noticed that", "detected that", "completion", "unreachable", "crash"),
    *("no space", "stale", "quota", "lockup", "fallen off", "address: ", "sigterm", "sigint"),
    *("refused", "limit reached", "preempted", "couldn't", "could not", "^c", "truncated"),
    *("shutdown", "shutting down", "not responding", "lost", "problems with", "mismatch"),
    *("unsuccessful", "disallowed", "message", "rc=", "sigkill", "ctrl-c", "got sig", "stop "),
    *(
        "mpi_init",
        "unexpected",
        "verification",
        "compromised",
        "cq_readerr",
        "00000000",
        "returned ",
    ),
    *("nccl info", "cleaning up", "at line ", "evicted", "was held", "removed", "-kill", "jwe"),
    *("backoff", "outofmem", "keyboard", "fio-f-", "atp", "protection", "blocked", "going down"),
    *("xid", "undeliver", "partial", "busy", "cannot open", "not found", "no such", "denied"),
    *("read-only", "not connected"),
)
"""Words in small letters, of which every message has at least one: quicker to look for."""
_FAILED = re.compile(
    r"(?<![\w-])(?:errors?|fail(?:ed|ure|s)?|fatal|abort(?:ed|ing|s)?|kill(?:ed|ing)?|terminat(?:ed|ing)|"
    r"died|crash(?:ed|es)?|time[d -]*out|cancel(?:l?ed|ling)?|panic|exception|corrupt\w*|"
    r"reset by \w*\s?peer|closed by remote|broken pipe|connection refused|not responding|"
    r"out of memory|unable to|could(?: not|n't) \w+|problems with|time limit reached|preempted|"
    r"walltime exceeded|interrupted by|shut(?:ting |)down|SIG(?:TERM|INT|KILL|QUIT|HUP|XCPU)|"
    r"lost|mismatch(?:ed)?|truncated|unsuccessful|received signal|(?:exit|rc=|returned) ?[1-9]\d*$|"
    r"NCCL INFO \S+:\d+ -> [1-9]\d*$|UNDELIVERABLE|partial response|ctrl-c caught|Text file busy|"
    r"[Cc]annot open|not found|No such file or directory|Permission denied|Read-only file system|"
    r"not connected)"
    r"(?![\w-]|\"? *[:=] *\d)|^\^C",
    re.IGNORECASE,
)
_PROSE = re.compile(
    r"\b(?:I|I'm|I've|my|we|our|any idea|please)\b|\?\s*$|^[A-Z][a-z]* [a-z].*[.!,]$"
)
"""Words of a person who asks or reports, not of a program."""
_HARMLESS = re.compile(
    # iperf 2.1 ends its UDP server with an assertion of the mutex, after all is printed.
    r"pthread_mutex_lock_full|help message|warning|UCX +WARN|Permanently added|"
    r"NCCL INFO (?!\S+:\d+ -> [1-9])|"
    r"\b(?:no|0) (?:errors?|fail\w*|packet loss|loss|timeouts?)\b|enforce fail|"
    r"mca_base_component|setpgid|"
    r"failed residual checks|MPI_ERRORS_RETURN|time-out\.;|VERIFY ERRORS$|"
    r"Out of bounds values|Too many errors! Truncating",
    re.IGNORECASE,
)
_SHOWN_MAX = 120  # Longest part of a message that is shown [characters].


def deaths(lines: Iterable[TextLine]) -> list[TextLine]:
    """Find the messages that say on their own that a process died."""
    return [line for line in lines if _is_message(line.text, _DEATH)]


def failures(lines: Iterable[TextLine]) -> list[TextLine]:
    """Find messages that something failed, among lines behind the last row."""
    return [row for row in lines if _is_message(row.text, _FAILED) and not _PROSE.search(row.text)]


def _is_message(text: str, pattern: re.Pattern[str]) -> bool:
    small = text.lower()
    if not any(word in small for word in _WORDS):
        return False
    return bool(pattern.search(text)) and not _HARMLESS.search(text)


def sentence(line: TextLine) -> str:
    """Say that the run died, and by which message."""
    return f"the run failed: line {line.number}: {' '.join(line.text.split())[:_SHOWN_MAX]}"
