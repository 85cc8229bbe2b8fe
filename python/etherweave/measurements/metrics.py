"""Metrics that all adapters share, each with its unit and direction."""

from dataclasses import dataclass
from enum import StrEnum

from etherweave.api.units import Unit


class Better(StrEnum):
    """Direction that is better."""

    LOWER = "lower"
    HIGHER = "higher"
    NEITHER = "neither"


@dataclass(frozen=True)
class Metric:
    """A quantity that a benchmark measures."""

    name: str
    unit: Unit
    better: Better
    meaning: str  # One sentence.


def _less(name: str, unit: Unit, meaning: str) -> Metric:
    return Metric(name, unit, Better.LOWER, meaning)


def _more(name: str, unit: Unit, meaning: str) -> Metric:
    return Metric(name, unit, Better.HIGHER, meaning)


LATENCY = _less("latency", Unit.SECONDS, "One way: half of a round trip between two processes.")
ROUND_TRIP = _less("round_trip", Unit.SECONDS, "A message and its answer.")
CALL_TIME = _less("call_time", Unit.SECONDS, "One call of a collective or one-sided operation.")
OVERLAPPED_TIME = _less("overlapped_time", Unit.SECONDS, "A non-blocking call with computation.")
ITERATION_TIME = _less("iteration_time", Unit.SECONDS, "One iteration of an application.")
EXPOSED = _less(
    "exposed_communication",
    Unit.SECONDS,
    "A step less its computation, the bubble of its pipeline and the imbalance of its stages.",
)
EXPOSED_IN_NODES = _less(
    "exposed_communication_in_nodes",
    Unit.SECONDS,
    "Of that, collectives within nodes that the computation waits for, by their formula.",
)
REPETITION_ERROR = _less(
    "error_of_sampled_micro_batches",
    Unit.SECONDS,
    "Bound: difference between the longest and the shortest round of micro-batches, times the "
    "rounds that are left out, and what a stage waits in a round.",
)
IMBALANCE = _less(
    "imbalance_of_stages",
    Unit.SECONDS,
    "What stages of a pipeline wait for the slowest of them, beyond its bubble.",
)
ACCELERATOR_MEMORY = _less(
    "memory_of_an_accelerator",
    Unit.BYTES,
    "Parameters, gradients, state of the optimizer and activations of the stage with most.",
)
ELAPSED = _less("elapsed", Unit.SECONDS, "The timed part of a run.")
BANDWIDTH = _more("bandwidth", Unit.BYTES_PER_SECOND, "Payload in one direction of one pair.")
BANDWIDTH_BOTH = _more("bandwidth_both", Unit.BYTES_PER_SECOND, "Payload, both directions added.")
BANDWIDTH_SUM = _more(
    "bandwidth_sum", Unit.BYTES_PER_SECOND, "Payload of all pairs or ranks added."
)
BANDWIDTH_RANK = _more("bandwidth_rank", Unit.BYTES_PER_SECOND, "Payload that one rank sends.")
BANDWIDTH_BUS = _more(
    "bandwidth_bus",
    Unit.BYTES_PER_SECOND,
    "Payload of a collective scaled to what each rank must move, so that it compares to a link.",
)
BANDWIDTH_LOGICAL = _more(
    "bandwidth_logical",
    Unit.BYTES_PER_SECOND,
    "Tokens by destination, the own node's included, over the time, as DeepEP's tests count.",
)
FIRST_TOKEN_TIME = _less(
    "time_to_first_token", Unit.SECONDS, "Arrival of a request until its first token (TTFT)."
)
TOKEN_GAP = _less(
    "time_between_tokens", Unit.SECONDS, "Mean time between tokens of a request (ITL)."
)
QUEUEING = _less("queueing", Unit.SECONDS, "Arrival of a request until its prompt is computed.")
PREFILL = _less("prefill", Unit.SECONDS, "Computation of a prompt.")
TRANSFER = _less(
    "transfer", Unit.SECONDS, "End of a prompt's computation until its keys and values are there."
)
FIRST_STEP = _less("first_step", Unit.SECONDS, "Keys and values until the first token.")
FABRIC_SHARE = _less(
    "fabric_share",
    Unit.COUNT,
    "Share of the time to first token that is transfer, and exchange of experts, 0..1.",
)
TOKEN_FABRIC_SHARE = _less(
    "token_fabric_share",
    Unit.COUNT,
    "Share of the time between tokens that is dispatch and combine of experts, 0..1.",
)
GOODPUT = _more(
    "goodput", Unit.PER_SECOND, "Requests within the limits of both times, of the run's time."
)
BYTES_PER_TOKEN = _less(
    "bytes_per_token", Unit.BYTES, "Payload that a rank sends to other nodes for each token."
)
BANDWIDTH_CALL = _more(
    "bandwidth_call",
    Unit.BYTES_PER_SECOND,
    "Size of a collective over the time of a call: its algorithm's bandwidth.",
)
STORAGE_BANDWIDTH = _more("storage_bandwidth", Unit.BYTES_PER_SECOND, "Bytes read or written.")
MEMORY_BANDWIDTH = _more("memory_bandwidth", Unit.BYTES_PER_SECOND, "Memory traffic of a rank.")
MESSAGE_RATE = _more("message_rate", Unit.PER_SECOND, "Messages of all pairs.")
TRANSACTION_RATE = _more("transaction_rate", Unit.PER_SECOND, "Requests that were answered.")
OPERATION_RATE = _more("operation_rate", Unit.PER_SECOND, "Operations; labels say which.")
SAMPLE_RATE = _more("sample_rate", Unit.PER_SECOND, "Samples of training or fine-tuning.")
FLOP_RATE = _more("flop_rate", Unit.PER_SECOND, "Floating-point operations.")
UPDATE_RATE = _more("update_rate", Unit.PER_SECOND, "Updates at random places of a global table.")
OVERLAP = _more(
    "overlap", Unit.COUNT, "Share of the communication hidden behind computation, 0..1."
)
LOSS = _less("loss", Unit.COUNT, "Share of the packets that did not arrive, 0..1.")
JITTER = _less("jitter", Unit.SECONDS, "Mean difference of successive transit times (RFC 3550).")
RETRANSMITS = _less("retransmits", Unit.COUNT, "TCP segments that were sent again.")
CONGESTION_IMPACT = _less(
    "congestion_impact",
    Unit.COUNT,
    "Congested over isolated latency, isolated over congested bandwidth: 1 is no impact.",
)
CPU_LOAD = Metric("cpu_load", Unit.COUNT, Better.NEITHER, "Cores' worth of processor time used.")

METRICS = {metric.name: metric for metric in list(globals().values()) if isinstance(metric, Metric)}
"""All metrics, by name."""
