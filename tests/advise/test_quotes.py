"""Price books from tables of quotes."""

import tomllib
from pathlib import Path

import pytest

from etherweave.advise import AdviseError
from etherweave.advise.quotes import price_book
from support.command_line import run_here
from support.questions import FAST, JOB, SETTINGS, SLOW, write

HEAD = "kind,part,price,currency,date,source,per_metre,basis\n"
QUOTES = """\
switch,32 x 100Gb/s,8500,EUR,2026-10-02,"offer 17, line 1",,
nic,25Gb/s,200,USD,2026-10-05,web shop,,

cable,100Gb/s fibre 500m,20,EUR,2026-10-02,"offer 17, line 9",0.8,
electricity,kilowatt_hour,0.21,EUR,2026-01,contract,,
electricity,overhead,1.3,,2026-01,measured,,estimate
"""


def table(home: Path, text: str) -> Path:
    path = home / "quotes.csv"
    path.write_text(HEAD + text)
    return path


def test_a_book_has_a_line_for_each_quote_with_date_and_source(tmp_path: Path) -> None:
    book = tomllib.loads(price_book(table(tmp_path, QUOTES), "EUR", {"USD": 0.9}))
    assert book["currency"] == "EUR"
    assert book["switch"]["32 x 100Gb/s"] == {
        "value": "8500 EUR",
        "basis": "published",
        "source": "offer 17, line 1",
        "date": "2026-10-02",
    }
    assert book["nic"]["25Gb/s"]["value"] == "180.00 EUR"
    assert book["nic"]["25Gb/s"]["source"] == "web shop; 200 USD at 0.9"
    assert book["cable"]["100Gb/s fibre 500m"]["per_metre"] == "0.8 EUR"
    assert book["electricity"]["overhead"]["value"] == 1.3


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("swich,32 x 100Gb/s,1,EUR,2026-10,x,,", "line 2: kind: 'swich'; expected one of switch"),
        ("switch,32x100Gb/s,1,EUR,2026-10,x,,", 'line 2: part: "32x100Gb/s" is no switch'),
        ("switch,32 x 100Gb/s,1e3,EUR,2026-10,x,,", "line 2: price: '1e3'; expected an amount"),
        ("switch,32 x 100Gb/s,1,€,2026-10,x,,", "line 2: currency: '€'; expected a code"),
        ("switch,32 x 100Gb/s,1,EUR,,x,,", "line 2: date: ''; expected when the price held"),
        ("switch,32 x 100Gb/s,1,EUR,2026-10,,,", "line 2: source: ''; expected where"),
        ("switch,32 x 100Gb/s,1,EUR,2026-10,x,,sure", "line 2: basis: 'sure'; expected one of"),
        ("switch,32 x 100Gb/s,1,EUR,2026-10,x", "line 2: 6 values; expected 8"),
        ("switch,32 x 100Gb/s,1,EUR,2026-10,x,2,", "line 2: part: "),
        (
            "nic,25Gb/s,1,EUR,2026-10,x,,\nnic,25Gb/s,2,EUR,2026-10,x,,",
            'line 3: nic."25Gb/s": quoted in ',
        ),
        (
            "nic,25Gb/s,1,EUR,2026-10,x,,\nnic,100Gb/s,2,USD,2026-10,x,,",
            "line 3: currency: USD; expected EUR, or what one USD is in EUR",
        ),
        (
            "electricity,kilowatt_hour,0.2,EUR,2026-10,x,,",
            "electricity: kilowatt_hour; expected both kilowatt_hour and overhead",
        ),
    ],
)
def test_what_is_no_quote_is_an_error_with_its_line(
    line: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(AdviseError) as error:
        price_book(table(tmp_path, line + "\n"))
    assert message in str(error.value)


def test_a_table_without_the_columns_is_an_error_that_lists_them(tmp_path: Path) -> None:
    path = tmp_path / "quotes.csv"
    for text in ("", "part;price\n"):
        path.write_text(text)
        with pytest.raises(AdviseError, match=r"expected .*kind, part, price"):
            price_book(path)


def test_the_verb_writes_a_book_that_a_question_takes(tmp_path: Path) -> None:
    quotes = table(
        tmp_path,
        "switch,8 x 100Gb/s,900,USD,2026-10,x,,\n"
        "nic,25Gb/s,100,USD,2026-10,x,,\nnic,100Gb/s,400,USD,2026-10,x,,\n"
        "cable,25Gb/s copper 3m,10,USD,2026-10,x,,\ncable,100Gb/s copper 3m,20,USD,2026-10,x,,\n",
    )
    question = write(tmp_path, SETTINGS, SLOW, FAST, JOB)
    done = run_here("advise", "quotes", quotes, "-o", tmp_path / "prices.toml", code=0)
    assert done.stderr == ""
    done = run_here("advise", question, "-o", tmp_path / "out")
    # A switch, four NICs and four cables; the book has no electricity.
    assert "1,340 (1,340 to 1,340)" in done.stdout
    assert "example" not in done.stdout
    assert "Electricity is not counted" in done.stdout


def test_an_exchange_that_is_none_is_a_mistake(tmp_path: Path) -> None:
    done = run_here("advise", "quotes", table(tmp_path, QUOTES), "--exchange", "USD", code=2)
    assert done.stderr == "--exchange USD: expected CODE=AMOUNT, as in USD=0.92\n"
