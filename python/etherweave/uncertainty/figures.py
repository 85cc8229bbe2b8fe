"""The unknowns of a scenario: figures of its interconnect, by what each rests on.

``estimate``
    lies between the ends that its documents have, on each side of its value as often; where they
    have none, about its value as the same figure differs between profiles. A time of 0 has no
    values about it: it is 0 as often as not, and else up to the largest of its key among profiles.
    Estimates that are parts
    of the time of a message to which a figure is fitted keep their sum: they divide that time anew.
``fitted``
    moves by as much time as the measurement that it is fitted to may be off. Figures that are
    fitted to the same measurement move together. A study whose system has been measured itself
    says so, and they do not move.
    A rate of messages fixes the time of a receiver, and bounds that of a sender.
    Estimates that are taken from one source move as one; those that a source calls shares of a
    measured time keep their sum.
``published``, ``derived``
    stand in their sources, and do not vary, but for choices of which documents know several.
"""

import json
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from etherweave import _core
from etherweave.api.scenario import dotted, literals, stated_by
from etherweave.api.simulation import Figure, figures
from etherweave.api.toml import literal
from etherweave.api.units import amount, time_of
from etherweave.study.declared import DeclaredUnknown
from etherweave.uncertainty.choices import choices, site_choices
from etherweave.uncertainty.declared import Declared, UncertaintyError
from etherweave.uncertainty.distributions import Choice, normal, share_below
from etherweave.uncertainty.fits import (
    HANDLING,
    PARTS,
    RATE_PARTS,
    RECEIVING,
    SENDING,
    Fit,
    Measurement,
    receiver_s,
)
from etherweave.uncertainty.spreads import (
    LATENCY,
    RATE,
    Spread,
    is_zero_time,
    largest_of,
    magnitude,
    spread_named,
    spread_of,
    spread_of_measurement,
)

FABRIC = ("topology.", "link.", "routing", "flow_control.")
"""Beginnings of figures that a site decides, and knows."""
SHARE = "a share of"  # Beginning of the source of an estimate that is a part of a measured time.
USED_BY = {"host.mpi_roce.": {"roce", "uet"}, "host.mpi_tcp.": {"tcp"}, "host.cpu.": {"tcp"}}
"""Beginnings of keys that only hosts with one of these transports have a use for."""
TABLES = ("host", "nic", "switch")
"""Tables of a scenario whose times and rates interconnects have a basis for."""
SHARED_MEMORY = "host.shared_memory."
"""Beginning of keys that only hosts with several ranks have a use for."""


@dataclass(frozen=True)
class Unknown:
    """Unknown that one share of 0 to 1 draws."""

    name: str
    basis: str
    about: str  # Origin of its distribution.
    keys: Sequence[str]  # Keys of scenarios that it decides, alone or with others.
    low: str  # The least that it is, as text.
    high: str

    @property
    def document(self) -> tuple[str, str, str]:
        """Document of the figure: equal figures of one key are copies of each other."""
        return self.name, self.low, self.high


@dataclass(frozen=True)
class Unknowns:
    """All that is not known of a scenario, and how a sample is made."""

    entries: Sequence[Unknown]  # Unknowns in the order of the shares.
    fixed: Sequence[Figure]  # Figures that rest on less than a publication, and do not vary.
    without_basis: Sequence[str]  # Tables of the scenario of which no figure has a basis.
    no_basis: Sequence[str]
    """Times and rates of the other tables without a basis, which are not drawn: defaults, and what
    profiles of libraries have."""
    _figures: Mapping[str, Figure] = field(repr=False)
    _spreads: Mapping[str, float] = field(repr=False)
    """Standard deviation of the logarithm of each estimate whose documents state no range."""
    _largest: Mapping[str, float] = field(repr=False)
    """Largest value among profiles of each estimate that is 0."""
    _groups: Mapping[str, str] = field(repr=False)
    """Name of the unknown of each estimate: its key, or keys that have one source."""
    _fits: Mapping[str, Fit] = field(repr=False)  # Measurements by name, rates of messages first.
    _choices: Mapping[str, Mapping[str, Choice]] = field(repr=False)
    """Choices by name: the values of each of its keys, which are drawn in step."""
    _declared: Declared = field(repr=False)
    _receiving_s: float = field(repr=False)  # Time that the scenario states [s].

    @property
    def keys(self) -> list[str]:
        """Every key that a sample sets."""
        drawn = [key for entry in self.entries for key in entry.keys]
        sums = [key for fit in self._fits.values() for key in fit.keys]
        return [*dict.fromkeys((*drawn, *sums))]

    def at(self, shares: Sequence[float]) -> dict[str, object]:
        """Write the keys of a sample, from a share of 0 to 1 of each distribution."""
        drawn = dict(zip((entry.name for entry in self.entries), shares, strict=True))
        values = {key: self._estimate(key, drawn[name]) for key, name in self._groups.items()}
        declared = self._declared.at(drawn)
        receiving_s = magnitude(declared.get(RECEIVING)) or self._receiving_s
        for name, fit in self._fits.items():
            # What is measured on this very system is no unknown, and does not move.
            nominal = {
                key: self._nominal(key) for key in {*fit.keys, HANDLING} & self._figures.keys()
            }
            values |= fit.at(drawn.get(name, 0.5), {RECEIVING: receiving_s} | values, nominal)
            if fit.is_rate and (own := self._groups.get(SENDING)):
                limit = receiver_s({RECEIVING: receiving_s} | values)
                values[SENDING] = self._estimate(SENDING, drawn[own], limit)
        texts: dict[str, object] = {
            key: _text(str(self._figures[key]["value"]), value) for key, value in values.items()
        }
        for name, of in self._choices.items():
            texts |= {key: choice.at(drawn[name]) for key, choice in of.items()}
        return texts | declared

    def figure(self, key: str) -> Figure | None:
        """Return the figure of the profile that a key is drawn about; None of other keys."""
        return self._figures.get(key)

    def _estimate(self, key: str, share: float, largest: float = math.inf) -> float:
        """Draw an estimate up to a limit: by its own documents, or as it differs between profiles.

        The figure itself is the median.
        """
        middle, side = self._nominal(key), abs(2 * share - 1)
        if key in self._largest:
            return self._largest[key] * side if share > 0.5 else 0.0
        if ends := _ends(self._figures[key]):
            # Each side is even on a logarithmic scale.
            return min(float(middle * (ends[share > 0.5] / middle) ** side), largest)
        sigma = self._spreads[key]
        if share > 0.5 and largest < math.inf:
            share = 0.5 + side * (share_below(math.log(max(largest / middle, 1.0)) / sigma) - 0.5)
        return middle * math.exp(sigma * normal(share))

    def _nominal(self, key: str) -> float:
        return magnitude(self._figures[key]["value"]) or 0.0


def unknowns(
    text: str,
    origin: str,
    changes: Mapping[str, object],
    declared: Declared,
    stated: Sequence[DeclaredUnknown] = (),
    *,
    has_site: bool = False,
) -> Unknowns:
    """Find what is not known of a scenario, which errors call by its origin.

    Keys of ``changes`` are known: figures that they replace do not vary. ``declared`` are
    distributions of the reader's own, which take the place of those of profiles; ``stated`` is what
    figures rest on that the scenario states itself; ``has_site`` is whether choices of a site are
    drawn that it does not state, such as placement. Raises ``ScenarioError`` when the scenario is
    wrong; ``UncertaintyError`` when there is no such spread, or a measured time has no number.
    """
    rows: list[Figure] = json.loads(_core.figures(text, origin, literals(changes)))
    resolved = tomllib.loads(_core.resolve(text, origin, literals(changes)))
    rows += _stated(stated, resolved, {row["key"] for row in rows})
    unused = tuple(_unused(resolved))
    open_ = {
        row["key"]: row
        for row in rows
        if row["key"] not in declared.keys and not row["key"].startswith(unused)
    }
    chosen = choices(open_, (text, origin), changes, declared)
    if has_site:
        chosen |= site_choices((text, origin), changes, declared)
    taken = {key for of in chosen.values() for key in of}
    uncertain = {
        key: value
        for key, value in open_.items()
        if value["basis"] not in ("published", "derived") and not key.startswith(FABRIC)
    }
    times = {key: value for key, value in uncertain.items() if magnitude(value["value"])}
    fits = _fits(times) | _shared(stated, times)
    fits |= _of_sources(times, {key for fit in fits.values() for key in fit.parts})
    here = [unknown.measured_here for unknown in stated if unknown.measured_here]
    own = {name for name in fits if any(text in name for text in here)}
    known = {key for name in own for key in fits[name].fitted}
    fits = {name: fit for name, fit in fits.items() if name not in own or fit.parts}
    fitted = {key for fit in fits.values() for key in fit.fitted}
    named = {key: spread_named(row.spread) for row in stated if row.spread for key in row.keys}
    estimates = {key: time for key, time in times.items() if key not in fitted | known}
    ranged = [key for key, estimate in estimates.items() if _ends(estimate)]
    widths = {key: named.get(key) or spread_of(key) for key in estimates if key not in ranged}
    spreads = {key: width for key, width in widths.items() if width}
    sigmas = {key: spread.sigma for key, spread in spreads.items()}
    parts = {key for fit in fits.values() for key in fit.parts}
    zeros = {key: row for key, row in uncertain.items() if is_zero_time(row["value"])}
    largest = {key: top for key in zeros if (top := largest_of(key)) and key not in taken}
    groups = _groups(
        [estimate for key, estimate in estimates.items() if key in ranged or key in sigmas], parts
    ) | {key: key for key in largest}
    members = {name: [key for key in groups if groups[key] == name] for name in groups.values()}
    varied = {*groups, *fitted, *taken, *known}
    fixed = [value for key, value in uncertain.items() if key not in varied]
    every = [
        *(_measured(name, fit) for name, fit in fits.items() if name not in own),
        *(
            _zero(zeros[keys[0]], largest[keys[0]])
            if keys[0] in largest
            else _estimated([times[key] for key in keys], spreads.get(keys[0]))
            for keys in members.values()
        ),
        *(_chosen(name, of) for name, of in chosen.items()),
        *_declared(declared),
    ]
    based = {row["key"] for row in rows} | {*declared.keys}
    lacking = _without_basis(based, resolved)
    stated_here = {*dotted(stated_by(tomllib.loads(text), changes))}
    others = [f"{name}." for name in lacking]
    if _lookup(resolved, "nic.pcie"):
        others.append("nic.drain_rate")  # The bus of the host is the limit.
    no_basis = _no_basis(based | stated_here, resolved, (*unused, *others))
    receiving_s = magnitude(_lookup(resolved, RECEIVING)) or 0.0
    return Unknowns(
        every,
        fixed,
        lacking,
        no_basis,
        open_,
        sigmas,
        largest,
        groups,
        fits,
        chosen,
        declared,
        receiving_s,
    )


def _without_basis(known: Set[str], resolved: Mapping[str, Any]) -> list[str]:
    """List the tables of which neither a profile nor the reader says what a figure rests on."""
    has_hosts = "job" in resolved or "tcp" in resolved["transport"]
    used = TABLES if has_hosts else TABLES[1:]
    return [name for name in used if not any(key.startswith(f"{name}.") for key in known)]


def _no_basis(known: Set[str], resolved: Mapping[str, Any], unused: tuple[str, ...]) -> list[str]:
    """List the times and rates of hosts, NICs and switches without a basis."""
    values = dotted({name: resolved[name] for name in TABLES if name in resolved})
    return [
        key
        for key, value in values.items()
        if magnitude(value) and key not in known and not key.startswith(unused)
    ]


def _unused(resolved: Mapping[str, Any]) -> Iterator[str]:
    """List the beginnings of keys that a scenario has no use for."""
    jobs: Sequence[Mapping[str, Any]] = resolved.get("job", [])
    transports = {*resolved["transport"]}.union(*(job.get("transport", {}) for job in jobs))
    for key, users in USED_BY.items():
        if users.isdisjoint(transports):
            yield key
    if not any(job["ranks_per_host"] > 1 or job.get("shared_hosts") for job in jobs):
        yield SHARED_MEMORY


def _fits(times: Mapping[str, Figure]) -> dict[str, Fit]:
    """Group fitted figures by their measurement, with the estimates that are parts of its time."""
    fitted: dict[str, tuple[Measurement, list[str]]] = {}
    for key, time in times.items():
        if time["basis"] == "fitted" and (measured := Measurement.of(time["source"])):
            fitted.setdefault(measured.source, (measured, []))[1].append(key)
    estimated = {key for key, time in times.items() if time["basis"] == "estimate"}
    fits, is_divided = dict[str, Fit](), False
    by_time = sorted(fitted.items(), key=lambda of: (of[1][0].kind != RATE, of[1][0].time_s))
    for name, (measured, keys) in by_time:
        of: Sequence[str] = ()
        if measured.kind == RATE and not {*keys}.isdisjoint(RATE_PARTS):
            of = RATE_PARTS
        elif measured.kind == LATENCY and not is_divided and {*keys} <= {*PARTS}:
            of, is_divided = PARTS, True  # Each is a part of one time, the shortest.
        fits[name] = Fit(measured, keys, [key for key in of if key in estimated])
    return fits


def _stated(
    stated: Sequence[DeclaredUnknown], resolved: Mapping[str, Any], known: Set[str]
) -> list[Figure]:
    """List the figures that a scenario states itself, with the basis that a study gives them."""
    rows: dict[str, Figure] = {}
    for unknown in stated:
        for profile in unknown.profiles:
            for figure in _of_profile(profile):
                value = _lookup(resolved, figure["key"])
                if value is not None and magnitude(value) == magnitude(figure["value"]):
                    rows.setdefault(figure["key"], figure)
        for key in unknown.keys if not unknown.low else ():
            value = _lookup(resolved, key)
            if value is not None:
                rows[key] = Figure(
                    profile="", key=key, value=value, basis="estimate", source=unknown.source
                )
    return [value for key, value in rows.items() if key not in known and magnitude(value["value"])]


@cache
def _of_profile(name: str) -> Sequence[Figure]:
    return figures({"interconnect": {"profile": name}})


def _shared(stated: Sequence[DeclaredUnknown], times: Mapping[str, Figure]) -> dict[str, Fit]:
    """Group the figures that divide a measured time among them."""
    fits: dict[str, Fit] = {}
    for row in stated:
        parts = [key for key in row.keys if key in times]
        if row.share_of and parts:
            if not (measured := Measurement.of(row.share_of)):
                raise UncertaintyError(f"share_of = {row.share_of!r}: no time; expected one in us")
            fits[row.share_of] = Fit(measured, [], parts)
    return fits


def _measured(name: str, fit: Fit) -> Unknown:
    measured = fit.measurement
    spread = spread_of_measurement(measured.kind)
    about = f"{measured.kind}: {spread.documents} figures of documents differ by {spread.sigma:.1%}"
    ends = [amount(measured.time_s + measured.change_s(share), "s") for share in (0.0, 1.0)]
    return Unknown(name, "fitted", about, fit.keys, *ends)


def _groups(estimates: Sequence[Figure], parts: Set[str]) -> dict[str, str]:
    """Name the unknown of each estimate; those of a profile's table from one source have one.

    Parts of a measured time divide it, and have one each; so have figures with a range.
    """
    together: dict[tuple[str, str], list[str]] = {}
    for estimate in estimates:
        is_part = (
            estimate["key"] in parts
            or estimate["source"].startswith(SHARE)
            or bool(_ends(estimate))
        )
        has_own = is_part or not estimate["profile"]
        source = estimate["key"] if has_own else estimate["source"]
        together.setdefault((estimate["key"].partition(".")[0], source), []).append(estimate["key"])
    names = {key: " and ".join(keys) for keys in together.values() for key in keys}
    return {estimate["key"]: names[estimate["key"]] for estimate in estimates}


def _of_sources(times: Mapping[str, Figure], taken: Set[str]) -> dict[str, Fit]:
    """Group estimates whose source calls them shares of a time that it measures."""
    sources: dict[str, tuple[Measurement, list[str]]] = {}
    for key in PARTS:
        figure = times.get(key)
        if not figure or key in taken or figure["basis"] != "estimate":
            continue
        measured = Measurement.of(figure["source"]) if figure["source"].startswith(SHARE) else None
        if measured and measured.kind == LATENCY:
            sources.setdefault(figure["source"], (measured, []))[1].append(key)
    return {name: Fit(of, [], keys) for name, (of, keys) in sources.items() if len(keys) > 1}


def _estimated(figures: Sequence[Figure], spread: Spread | None) -> Unknown:
    """Describe an estimate, or several from one source by the first of them."""
    first, keys = figures[0], [figure["key"] for figure in figures]
    unit = "s" if _is_time(first["value"]) else "B/s"
    if spread is None:
        low, high = _ends(first) or (0.0, 0.0)
        texts = amount(low, unit), amount(high, unit)
        return Unknown(" and ".join(keys), first["basis"], "range of its documents", keys, *texts)
    of_table = "" if spread.figure == first["key"] else f" of other keys of {spread.figure}"
    about = f"{spread.documents} figures of profiles{of_table} differ by {spread.sigma:.1%}"
    value = magnitude(first["value"]) or 0.0
    ends = [amount(value * math.exp(spread.sigma * normal(at)), unit) for at in (0.0, 1.0)]
    return Unknown(" and ".join(keys), first["basis"], about, keys, *ends)


def _zero(figure: Figure, largest: float) -> Unknown:
    """Describe an estimate of 0, which has no logarithm."""
    key, high = figure["key"], amount(largest, "s")
    return Unknown(key, figure["basis"], f"0, or up to {high} as in profiles", [key], "0ns", high)


def _ends(figure: Figure) -> tuple[float, float] | None:
    """Return the ends between which the documents of an estimate have it; None without any."""
    low, high = map(magnitude, figure.get("range", (None, None)))
    return (low, high) if low and high else None


def _chosen(name: str, of: Mapping[str, Choice]) -> Unknown:
    values = [tuple(choice.values[at] for choice in of.values()) for at in _places(of)]
    low, high = (", ".join(map(_written, values[at])) for at in (0, -1))
    weights = next(iter(of.values())).weights
    shares = ", ".join(f"{weight / sum(weights):.0%}" for weight in weights)
    is_even = len(set(weights)) == 1
    about = f"{len(values)} values of documents, {'each as likely' if is_even else shares}"
    return Unknown(name, "choice", about, list(of), low, high)


def _places(of: Mapping[str, Choice]) -> range:
    return range(len(next(iter(of.values())).values))


def _declared(declared: Declared) -> list[Unknown]:
    """List the unknowns of the reader: one for each key, or for keys that move as one."""
    texts = []
    for name, keys in declared.dimensions.items():
        ends = [declared.distributions[keys[0]].at(share) for share in (0.0, 1.0)]
        about = "declared" if len(keys) == 1 else "declared, in step"
        texts.append(Unknown(name, "declared", about, keys, *map(_written, ends)))
    return texts


def _written(value: object) -> str:
    """Write a value as a scenario has it: texts without quotes, tables by dotted keys."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {literal(own)}" for key, own in dotted(value).items())
    return value if isinstance(value, str) else literal(value)


def _text(like: str, value: float) -> str:
    """Write a time or a rate as scenarios have it, in units that have no parts."""
    return f"{round(value * 1e12)}ps" if _is_time(like) else f"{round(value * 8)}b/s"


def _is_time(value: object) -> bool:
    try:
        return time_of(str(value)) >= 0
    except ValueError:
        return False


def _lookup(table: Mapping[str, Any], key: str) -> Any:
    """Return the value of a dotted key; None without one."""
    value: Any = table
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
