"""Words around a program: end it in time, with whoever started it, and load modules first.

The scripts are constant; what users write reaches them as arguments, which no shell reads.
"""

import math
from collections.abc import Iterable, Mapping

GRACE_S = 2
"""Between SIGTERM and SIGKILL [s]."""
_GUARD = """
exec 3<&0 </dev/null
"$@" 3<&- &
child=$!
{ while read -r line; do :; done <&3; kill "$child"; } >/dev/null 2>&1 &
guard=$!
exec 3<&-
wait "$child"
status=$?
kill "$guard" 2>/dev/null
exit "$status"
"""
_MODULES = """
count=$1
shift
while [ "$count" -gt 0 ]; do
    module load "$1" || exit 127
    shift
    count=$((count - 1))
done
exec "$@"
"""


def guarded(words: Iterable[str], limit_s: float) -> list[str]:
    """End a program after some time, and when standard input ends.

    That is a pipe from whoever started it, through ssh too: if they die, so does the program.
    """
    return ["sh", "-c", _GUARD, "etherweave", *limited(words, limit_s)]


def limited(words: Iterable[str], limit_s: float) -> list[str]:
    """End a program after some time; standard input is its own."""
    limit = str(max(math.ceil(limit_s), 1))
    return ["timeout", "-k", str(GRACE_S), limit, *words]


def with_modules(modules: tuple[str, ...], words: Iterable[str]) -> list[str]:
    """Load environment modules first; a login shell knows ``module``."""
    if not modules:
        return list(words)
    shell = ["bash", "-l", "-c", _MODULES, "etherweave"]
    return [*shell, str(len(modules)), *modules, *words]


def with_variables(variables: Mapping[str, str], words: Iterable[str]) -> list[str]:
    """Set environment variables where nothing else carries them."""
    return ["env", *(f"{name}={value}" for name, value in variables.items()), *words]
