"""Costs of buying and running a fabric: the bill of its design, and the nodes beside it."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from etherweave import _core
from etherweave.advise.question import BASES, AdviseError, Candidate, Cited, Question
from etherweave.advise.unknowns import Unknown
from etherweave.api.inputs import read_text
from etherweave.api.scenario import literals

BOOK, POWER = "design.prices", "design.power"
"""Keys of a design that name its price book and its power profile."""
HOUR = "electricity.kilowatt_hour"
NODES = "nodes"
COMPONENTS = {
    "fixed_w": ("switch", "switches without ports"),
    "ports_w": ("port", "ports"),
    "modules_w": ("module", "cables and modules"),
    "buffers_w": ("packet", "buffers"),
    "tables_w": ("table", "tables"),
    "nics_w": ("nic", "NICs"),
}
"""Components of a fabric's power: where their figures stand in a profile, and what they are."""
_MONEY = re.compile(r"([0-9]+(?:\.[0-9]+)?) ([A-Z]{3})")
_POWER = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(k?)W")


@dataclass(frozen=True)
class Item:
    """A line of a bill, or a component of power."""

    key: str  # Key of the price book or the power profile, or ``nodes``.
    purpose: str
    count: int
    amount: float  # Sum over all of them, in the book's currency, or [W].
    basis: str
    source: str
    date: str | None
    unknown: str  # Name among unknowns.

    def scaled(self, scales: Mapping[str, float]) -> float:
        """Return the amount, times the factor of its unknown if there is one."""
        return self.amount * scales.get(self.unknown, 1.0)


@dataclass(frozen=True)
class Bill:
    """Costs of a fabric."""

    hosts: int
    switches: int
    power: Sequence[Item]  # Worst case of fabric and nodes [W]; empty where not known.
    currency: str = ""
    book: str = ""  # Description of the price book.
    items: Sequence[Item] = ()  # Purchases; empty where a price is missing.
    electricity: Item | None = None  # Sum over all years; None where not known.
    reasons: Sequence[str] = ()  # Why prices or power are missing.
    notes: Sequence[str] = ()  # Items that are not counted.

    def unknowns(self, question: Question) -> list[Unknown]:
        """List the prices and powers that are not certain."""
        lines = [*self.items, *([self.electricity] if self.electricity else [])]
        amounts = [(line, f"{line.amount:,.0f} {self.currency} in all") for line in lines]
        amounts += [(item, f"{item.amount:,.0f} W in all") for item in self.power]
        ranged = {item.unknown: (item, text) for item, text in amounts}
        return [
            Unknown(
                name,
                item.basis,
                _span(text, question.range_of(item.basis)),
                question.range_of(item.basis),
            )
            for name, (item, text) in ranged.items()
            if question.range_of(item.basis) > 1
        ]

    def watts(self, scales: Mapping[str, float]) -> float:
        """Sum up power, with factors on its components [W]."""
        return sum(item.scaled(scales) for item in self.power)

    def total(self, scales: Mapping[str, float]) -> float:
        """Sum up what is bought and the electricity of all years, with factors on both."""
        bought = sum(item.scaled(scales) for item in self.items)
        if not self.electricity:
            return bought
        return bought + self.electricity.scaled(scales) * self.watts(scales) / self.watts({})

    def without_electricity(self) -> "Bill":
        """Leave out electricity, which is not known of another fabric."""
        return replace(self, electricity=None)


def _span(text: str, factor: float) -> str:
    """Say where an amount lies."""
    return f"{text}, times {1 / factor:.2f} to {factor:.2f}"


def bill(candidate: Candidate, question: Question) -> Bill:
    """Design a fabric on paper, and add up its parts, its nodes and its electricity.

    A missing part has no price. Raises ``ScenarioError`` when the fabric, a price book or a power
    profile has a mistake; ``AdviseError`` when the price or the power of a node is not one;
    ``OSError``.
    """
    wanted, reasons = _wanted(candidate, question), list[str]()
    while True:
        try:
            return replace(_bill(_designed(candidate, wanted), question, wanted), reasons=reasons)
        except _core.ScenarioError as error:
            lacking = {mistake.key: f"{mistake.key}: {mistake.found}" for mistake in error.mistakes}
            if not lacking.keys() <= wanted.keys():
                raise candidate.mistake(error) from None
            reasons += lacking.values()
            wanted = {key: value for key, value in wanted.items() if key not in lacking}


def _wanted(candidate: Candidate, question: Question) -> dict[str, str]:
    """Name the price book and the power profile, files by their text.

    Both are right: what a design says at their keys is a part that they lack.
    """
    texts = {BOOK: question.settings.prices, POWER: question.settings.power}
    tables = {}
    for key, name in texts.items():
        if name and name.endswith(".toml"):
            tables[f"{key}_text"] = read_text(question.beside(name))
        elif name:
            tables[key] = name
    try:
        for key, document in tables.items():
            _core.check_document(key, document)
    except _core.ScenarioError as error:
        raise candidate.mistake(error) from None
    return tables


def _designed(candidate: Candidate, wanted: Mapping[str, str]) -> Mapping[str, Any]:
    changes = literals({**candidate.keys, "design.routings": [], **wanted})
    fabric = _core.Fabric.parse(candidate.text, candidate.origin, changes)
    designed = fabric.design(None)
    assert designed is not None, "nobody stops it"
    comparison = json.loads(_core.compare([designed]))
    return {**comparison["designs"][0], "metrics": comparison["metrics"][0]}


def _bill(design: Mapping[str, Any], question: Question, wanted: Mapping[str, str]) -> Bill:
    fabric, cost = design["fabric"], design["cost"]
    network = _network(design)
    power = [*network, *_node_power(question, fabric["hosts"])] if network else []
    plain = Bill(fabric["hosts"], fabric["switches"], power)
    if not cost or not any(key.startswith(BOOK) for key in wanted):
        return plain
    cited = {figure["key"]: figure for figure in cost["figures"]}
    items = [_item(line, cited[line["key"]]) for line in cost["items"]]
    priced = replace(plain, currency=cost["currency"], book=cost["about"], notes=cost["notes"])
    priced = replace(priced, items=[*items, *_nodes(question, priced)])
    if cost["electricity_year"] is None or not network:
        return priced
    share = priced.watts({}) / sum(item.amount for item in network)
    amount = cost["electricity_year"] * question.settings.years * share
    purpose = f"electricity of {question.settings.years:g} years"
    line = {"key": HOUR, "purpose": purpose, "count": 1, "all": amount}
    return replace(priced, electricity=_item(line, cited[HOUR]))


def _item(line: Mapping[str, Any], cited: Mapping[str, Any]) -> Item:
    key, evidence = line["key"], (cited["basis"], cited["source"], cited["date"])
    return Item(key, line["purpose"], line["count"], line["all"], *evidence, f"price of {key}")


def _network(design: Mapping[str, Any]) -> list[Item]:
    """List the components of a fabric's power, each as certain as its least certain figure."""
    power = design["power"]
    if not power:
        return []
    shares = []
    for name, (key, purpose) in COMPONENTS.items():
        amount = power["organisations"][-1]["fabric"][name]
        figures = [figure for figure in power["figures"] if figure["key"].partition(".")[0] == key]
        if not amount or not figures:
            continue
        least = max(figures, key=lambda figure: BASES.index(figure["basis"]))
        unknown = f"power of {purpose} in {power['profile']}"
        cited = (least["basis"], least["source"], least["date"])
        shares.append(Item(key, purpose, design["fabric"]["hosts"], amount, *cited, unknown))
    return shares


def _node_power(question: Question, hosts: int) -> list[Item]:
    power = question.settings.node.power
    if power is None:
        return []
    match = _POWER.fullmatch(power.value)
    if not match:
        raise _unread(question, "node.power", power, '"350W"')
    amount = hosts * float(match[1]) * (1e3 if match[2] else 1.0)
    cited = (power.basis, power.source, power.date)
    return [Item(NODES, "nodes without NICs", hosts, amount, *cited, "power of nodes")]


def _nodes(question: Question, priced: Bill) -> list[Item]:
    price = question.settings.node.price
    if price is None:
        return []
    match = _MONEY.fullmatch(price.value)
    if not match or match[2] != priced.currency:
        raise _unread(question, "node.price", price, f'"6000 {priced.currency}", as the price book')
    amount = priced.hosts * float(match[1])
    cited = (price.basis, price.source, price.date)
    return [Item(NODES, "nodes without NICs", priced.hosts, amount, *cited, f"price of {NODES}")]


def _unread(question: Question, key: str, cited: Cited, expected: str) -> AdviseError:
    return AdviseError(f"{question.file}: {key}: {cited.value!r}; expected one such as {expected}")
