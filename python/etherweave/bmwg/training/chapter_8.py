"""Load balancing over the uplinks of leaves (training draft, chapter 8)."""

from etherweave.bmwg.balancing import balance_cases, balance_test
from etherweave.bmwg.formulas import fairness
from etherweave.bmwg.kpis import REPORTED, uplink_bytes
from etherweave.bmwg.model import BenchTest, Plot, table
from etherweave.bmwg.settings import flowlets, strategies

STREAMS = (1, 4, 8, 16, 32)  # QPs a pair.
GAPS = ("500ns", "1us", "2us")  # Gap timers: the range that the terminology calls typical.

TESTS = {
    # A hash takes QPs of a pair apart.
    "8.1": balance_test(
        "Uplinks under ECMP", lambda fabric, _: strategies(fabric, ["ECMP"]), (1, 4, 16), STREAMS
    ),
    "8.2": balance_test(
        "Uplinks with flowlets",
        lambda fabric, full: {
            f"flowlets of {gap}": flowlets(fabric, gap)
            for gap in (*GAPS, *(("5us", "10us", "50us") if full else ()))
        },
        (4,),
    ),
    "8.3": balance_test(
        "Uplinks with packet spraying",
        lambda fabric, _: strategies(fabric, ["spray"]),
        (1, 4),
        STREAMS,
    ),
    # Fairness of every strategy, as one number.
    "8.4": BenchTest(
        lambda fabric, full: balance_cases(fabric, full, strategies(fabric), (4,)),
        lambda fabric, trials: [
            table(
                *("fairness", "Fairness of uplinks by strategy", ["strategy"]),
                [
                    REPORTED.metric(
                        "JFI of uplinks", lambda run: fairness(uplink_bytes(fabric, run))
                    )
                ],
                trials,
                plot=Plot(0, 1, is_bars=True),
            )
        ],
    ),
}
