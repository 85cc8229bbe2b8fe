"""A price book from a table of quotes: a line for each, with its date and where it comes from."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from etherweave import _core
from etherweave.advise.question import BASES, AdviseError
from etherweave.api import toml
from etherweave.api.inputs import read_text

NEEDED = ("kind", "part", "price", "currency", "date", "source")
COLUMNS = (*NEEDED, "per_metre", "basis")
KINDS = ("switch", "nic", "cable", "optics", "electricity")
HOUR, OVERHEAD = "kilowatt_hour", "overhead"
_AMOUNT = re.compile(r"[0-9]+(\.[0-9]+)?")
_CURRENCY = re.compile(r"[A-Z]{3}")
_DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?")
TEXT = "design.prices_text"  # Key of a scenario that has the text of a book.


@dataclass(frozen=True)
class Quote:
    """A line of the table."""

    place: str  # File and line, for errors.
    kind: str
    part: str
    price: str  # An amount, without its currency.
    per_metre: str
    currency: str
    date: str
    source: str
    basis: str

    @property
    def key(self) -> str:
        """Where the book has it."""
        part = self.part if self.kind == "electricity" else toml.literal(self.part)
        return f"{self.kind}.{part}"

    def entry(self) -> dict[str, object]:
        """Write it as the book has it."""
        cited = {"basis": self.basis, "source": self.source}
        if self.part == OVERHEAD:
            return {"value": float(self.price), **cited}
        amounts = {"value": f"{self.price} {self.currency}"}
        if self.per_metre:
            amounts["per_metre"] = f"{self.per_metre} {self.currency}"
        return {**amounts, **cited, **({"date": self.date} if self.date else {})}


def price_book(
    path: str | Path, currency: str | None = None, exchange: Mapping[str, float] | None = None
) -> str:
    """Write a price book, in a currency, of all quotes of a CSV file.

    Columns are ``kind``, ``part``, ``price``, ``currency``, ``date`` and ``source``, and perhaps
    ``per_metre`` and ``basis``. ``exchange`` has amounts of the currency for one of another; the
    source of a price that is changed says so. Raises ``AdviseError`` when a line is no quote: says
    which, and what is expected; ``OSError``.
    """
    quotes = _read(path)
    money = [quote for quote in quotes if quote.part != OVERHEAD]
    wanted = currency or (money[0].currency if money else "")
    quotes = [_exchanged(quote, wanted, exchange or {}) for quote in quotes]
    seen: dict[str, Quote] = {}
    for quote in quotes:
        if quote.key in seen:
            other = seen[quote.key].place
            raise AdviseError(
                f"{quote.place}: {quote.key}: quoted in {other} too; expected it once"
            )
        seen[quote.key] = quote
    electric = {quote.part for quote in quotes if quote.kind == "electricity"}
    if electric not in (set(), {HOUR, OVERHEAD}):
        expected = f"both {HOUR} and {OVERHEAD}, or neither"
        raise AdviseError(
            f"{path}: electricity: {', '.join(sorted(electric))}; expected {expected}"
        )
    for quote in quotes:
        _check(quote, wanted)
    return _book(f"Quotes of {Path(path).name}", wanted, quotes)


def _read(path: str | Path) -> list[Quote]:
    rows = list(csv.reader(io.StringIO(read_text(path))))
    if not rows:
        raise AdviseError(f"{path}: empty; expected a line with {', '.join(NEEDED)}")
    head = [name.strip().lower() for name in rows[0]]
    if set(head) - set(COLUMNS) or set(NEEDED) - set(head):
        columns, known = ", ".join(head)[:80], ", ".join(NEEDED)
        raise AdviseError(
            f"{path}: line 1: {columns}; expected {known}, and perhaps per_metre, basis"
        )
    quotes = []
    for number, row in enumerate(rows[1:], 2):
        if not any(row):
            continue
        place = f"{path}: line {number}"
        if len(row) != len(head):
            raise AdviseError(f"{place}: {len(row)} values; expected {len(head)}")
        quotes.append(_quote(place, dict(zip(head, (cell.strip() for cell in row), strict=True))))
    return quotes


def _quote(place: str, cells: Mapping[str, str]) -> Quote:
    is_overhead = cells["part"] == OVERHEAD
    basis = cells.get("basis") or "published"
    checks = {
        "kind": (cells["kind"] in KINDS, f"one of {', '.join(KINDS)}"),
        "price": (_AMOUNT.fullmatch(cells["price"]), "an amount such as 12000.50"),
        "per_metre": (_AMOUNT.fullmatch(cells.get("per_metre") or "0"), "an amount, or nothing"),
        "currency": (is_overhead or _CURRENCY.fullmatch(cells["currency"]), "a code such as USD"),
        "date": (
            _DATE.fullmatch(cells["date"]) or (basis == "example" and not cells["date"]),
            "when the price held, such as 2026-10-31",
        ),
        "source": (cells["source"], "where it comes from, such as an offer and its line"),
        "basis": (basis in BASES, f"one of {', '.join(BASES)}"),
    }
    for name, (is_right, expected) in checks.items():
        if not is_right:
            raise AdviseError(f"{place}: {name}: {cells.get(name)!r}; expected {expected}")
    return Quote(
        place,
        cells["kind"],
        cells["part"],
        cells["price"],
        cells.get("per_metre", ""),
        cells["currency"],
        cells["date"],
        cells["source"],
        basis,
    )


def _exchanged(quote: Quote, wanted: str, exchange: Mapping[str, float]) -> Quote:
    if quote.currency == wanted or quote.part == OVERHEAD:
        return quote
    if quote.currency not in exchange:
        expected = f"{wanted}, or what one {quote.currency} is in {wanted}"
        raise AdviseError(f"{quote.place}: currency: {quote.currency}; expected {expected}")
    rate = exchange[quote.currency]

    def changed(amount: str) -> str:
        return f"{float(amount) * rate:.2f}" if amount else ""

    return replace(
        quote,
        price=changed(quote.price),
        per_metre=changed(quote.per_metre),
        currency=wanted,
        source=f"{quote.source}; {quote.price} {quote.currency} at {rate:g}",
    )


def _book(about: str, currency: str, quotes: Sequence[Quote]) -> str:
    """Write the book: a table for each kind, a line for each quote."""
    lines = [f"about = {toml.literal(about)}", f"currency = {toml.literal(currency)}"]
    for kind in KINDS:
        own = [quote for quote in quotes if quote.kind == kind]
        lines += ["", f"[{kind}]"] if own else []
        lines += [f"{quote.key.partition('.')[2]} = {toml.literal(quote.entry())}" for quote in own]
    return "\n".join(lines) + "\n"


def _check(quote: Quote, currency: str) -> None:
    """Let the core read a book of this quote alone, whose mistake is that of its line."""
    others: list[Quote] = []
    if quote.kind == "electricity":
        other = OVERHEAD if quote.part == HOUR else HOUR
        others = [replace(quote, part=other, price="1", currency=currency)]
    book = _book("One quote", currency, [quote, *others])
    try:
        _core.check_document(TEXT, book)
    except _core.ScenarioError as error:
        mistake = error.mistakes[0]
        key = mistake.key.removeprefix(TEXT).removeprefix(".")
        reason = f"{key}: {mistake.reason}" if key else mistake.reason
        raise AdviseError(f"{quote.place}: part: {reason}") from None
