"""Training steps that MLPerf measured: a row of each family gives the rate of its accelerator.

The other rows of a family are predictions. A run is made at a rate near that of its family; what
its step is at the calibrated rate follows from the parts of a step that no message delays.
"""

import statistics
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from etherweave.api.simulation import step_times
from etherweave.measurements.quantities import quantities
from etherweave.study.declared import Metric, Results
from etherweave.study.experiments import RunExperiment

MODELS = {
    "405b": {
        "layers": 126,
        "hidden": 16_384,
        "feed_forward": 53_248,
        "key_value": 1_024,
        "vocabulary": 128_256,
        "sequence": 8_192,
    },
    "8b": {
        "layers": 32,
        "hidden": 4_096,
        "feed_forward": 14_336,
        "key_value": 1_024,
        "vocabulary": 128_256,
        "sequence": 8_192,
    },
    "lora": {
        "layers": 80,
        "hidden": 8_192,
        "feed_forward": 28_672,
        "key_value": 1_024,
        "vocabulary": 32_000,
        "sequence": 8_192,
    },
}
"""Llama 3.1 of 405 and 8 G parameters, and Llama 2 of 70 G."""


class System(NamedTuple):
    """An accelerator by its data sheet, and what joins those of a node."""

    processors: int
    memory_gbps: int  # Rate of the memory [Gb/s].
    node_gbps: int  # Bus bandwidth of a node [Gb/s].
    memory_gb: int  # Size of the memory [GB].
    channel_gbps: int = 0  # Rate of a channel of NCCL [Gb/s].
    is_mesh: bool = False


HOPPER_NODE_GBPS = 3_680
"""Expectation of a provider's health check of eight H100, as in docs/models/training.md."""
HOPPER_CHANNEL_GBPS = 294  # 36.7 GB/s of a ring with LL128: src/graph/tuning.cc of NCCL.
BLACKWELL_CHANNEL_GBPS = 320  # 40 GB/s, there.
BLACKWELL_NODE_GBPS = 2 * HOPPER_NODE_GBPS  # NVLink 5 has twice the rate of NVLink 4.
SYSTEMS = {
    "h100": System(132, 26_800, HOPPER_NODE_GBPS, 80, HOPPER_CHANNEL_GBPS),
    "h200": System(132, 38_400, HOPPER_NODE_GBPS, 141, HOPPER_CHANNEL_GBPS),
    "b200": System(148, 64_000, BLACKWELL_NODE_GBPS, 180, BLACKWELL_CHANNEL_GBPS),
    "gb200": System(152, 64_000, BLACKWELL_NODE_GBPS, 186, BLACKWELL_CHANNEL_GBPS),
    "gb300": System(160, 64_000, BLACKWELL_NODE_GBPS, 288, BLACKWELL_CHANNEL_GBPS),
    "mi325x": System(304, 48_000, 2_432, 256, is_mesh=True),
}
LAUNCH = "500ns"  # Time of a kernel of a CUDA graph beyond its own.
ADAPTERS = 16  # Rank of the adapters of the benchmark's fine-tuning.
SIMULATED = 40  # Micro-batches of a stage with eight parts: three rounds, the fewest allowed.


class Row(NamedTuple):
    """A row of the results: a family, its system and model, and the plan."""

    family: str
    system: str
    model: str
    ranks: int
    batch: int
    published: float  # Time of a step [s], or sequences in a second of fine-tuning.
    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    micro_batch: int = 1
    node: int = 8
    bucket_mb: int = 0  # Gradients that leave together [MB]; 0 those of a layer.

    @property
    def step_s(self) -> float:
        """The published time of a step [s]."""
        return self.batch / self.published if self.model == "lora" else self.published

    def training(self, per_teraflop_ps: float) -> dict[str, object]:
        """Describe the step as a workload."""
        system = SYSTEMS[self.system]
        parallel: dict[str, object] = {
            "tensor": self.tensor,
            "pipeline": self.pipeline,
            "context": self.context,
            "zero": 1,
            "prefetch": True,
        }
        if system.channel_gbps and self.model != "lora":
            parallel["context_rate"] = f"{system.channel_gbps}Gb/s"
        if self.bucket_mb:
            parallel["bucket"] = f"{self.bucket_mb}MB"
        node = {
            "accelerators": self.node,
            "rate": f"{system.node_gbps}Gb/s",
            "is_mesh": system.is_mesh,
        }
        accelerator = {
            "processors": system.processors,
            "memory_rate": f"{system.memory_gbps}Gb/s",
            "launch": LAUNCH,
            "memory": f"{system.memory_gb}GB",
        }
        workload: dict[str, object] = {
            "ranks": self.ranks,
            "batch": self.batch,
            "micro_batch": self.micro_batch,
            "rounds": 8,
            "per_teraflop": f"{round(per_teraflop_ps)}ps",
            "model": MODELS[self.model],
            "parallel": parallel,
            "node": node,
            "accelerator": accelerator,
            "gradient_bytes": 2,
            "parameter_bytes": 1,
        }
        if self.pipeline > 1:
            parallel["interleave"] = 8
            workload["micro_batches"] = SIMULATED
        if self.model == "lora":
            workload["adapters"] = ADAPTERS
        return workload


H100 = partial(Row, "h100.405b", "h100", "405b", tensor=8, pipeline=8, context=2)
GB200 = partial(Row, "gb200.405b", "gb200", "405b", tensor=4, pipeline=8, context=2, node=64)
H200 = partial(Row, "h200.405b", "h200", "405b", tensor=4, pipeline=8, context=2)
NEMO = partial(Row, model="8b", bucket_mb=1_536)  # 768 M elements of 2 B: config_common_8b.sh.
FLORIDA = partial(Row, "florida.8b", "b200", "8b", bucket_mb=268)  # conf/custom.yaml.
ROWS = {
    "h100.405b.512": H100(512, 1_152, 55.1017),
    "h100.405b.2048": H100(2_048, 1_152, 14.2068),
    "h100.405b.2560": H100(2_560, 1_120, 11.1847),
    "gb200.405b.512": GB200(512, 896, 19.4294),
    "gb200.405b.1024": GB200(1_024, 768, 8.4484),
    "gb200.405b.2048": GB200(2_048, 1_280, 7.1523),
    "h200.405b.512": H200(512, 1_152, 50.0153),
    "h200.405b.1024": H200(1_024, 1_152, 25.3549),
    "oracle.8b.8": NEMO("oracle.8b", "b200", ranks=8, batch=16, published=0.4540, micro_batch=2),
    "oracle.8b.64": NEMO("oracle.8b", "b200", ranks=64, batch=32, published=0.1912, context=2),
    "nebius.8b.8": NEMO("nebius.8b", "b200", ranks=8, batch=16, published=0.4558, micro_batch=2),
    "nebius.8b.16": NEMO("nebius.8b", "b200", ranks=16, batch=32, published=0.4950),
    "florida.8b.8": FLORIDA(8, 16, 0.5436, micro_batch=2),
    "florida.8b.16": FLORIDA(16, 32, 0.5712, micro_batch=2),
    "florida.8b.64": FLORIDA(64, 32, 0.1894, context=2),
    "gb300.8b.8": NEMO("gb300.8b", "gb300", ranks=8, batch=16, published=0.3456, micro_batch=2),
    "gb300.8b.72": NEMO(
        "gb300.8b", "gb300", ranks=72, batch=36, published=0.1472, context=2, node=72
    ),
    "cisco.8b.64": Row("cisco", "h100", "8b", 64, 64, 0.7198),
    "cisco.lora.64": Row("cisco", "h100", "lora", 64, 8, 14.737, tensor=4, context=2),
    "krai.lora.16": Row("krai.lora", "h200", "lora", 16, 8, 4.793, tensor=2),
    "krai.lora.32": Row("krai.lora", "h200", "lora", 32, 8, 9.099, tensor=4),
    "mi325x.lora.8": Row("mi325x.lora", "mi325x", "lora", 8, 8, 2.885),
    "mi325x.lora.16": Row("mi325x.lora", "mi325x", "lora", 16, 8, 4.700, context=2),
}
"""Rows by id. The first of each family is the one that its rate is calibrated to."""


def calibrated(family: str) -> str:
    """Return the row that gives the rate of a family."""
    return next(name for name, row in ROWS.items() if row.family == family)


def experiments(full: bool) -> Iterator[RunExperiment]:
    """List a run for every row; a complete study has no more."""
    del full
    for name, row in ROWS.items():
        overrides = {
            "topology.single_switch.hosts": row.ranks,
            "job.0.workload": {"training": row.training(near(row.family))},
        }
        yield RunExperiment(name, "fabric", overrides)


def metrics() -> dict[str, Metric]:
    """Every figure by its id: predicted steps, and the median of their errors."""
    steps: dict[str, Metric] = {name: partial(figure, name) for name in ROWS}
    return {**steps, "median": median}


def known_s(row: Row, per_teraflop_ps: float) -> float:
    """Return what a step takes where no message between nodes takes any time [s]."""
    parts = step_times(row.training(per_teraflop_ps))
    stages = parts["computation_s"] + parts["bubble_s"] + parts["imbalance_s"]
    return stages + parts["in_node_s"]


def slope(row: Row) -> float:
    """Return by how much a step is longer for each picosecond of 10^12 operations [s/ps]."""
    low, high = 1e9, 2e9
    return (known_s(row, high) - known_s(row, low)) / (high - low)


def near(family: str) -> float:
    """Return the time of 10^12 operations if messages took no time in the first row [ps]."""
    row = ROWS[calibrated(family)]
    fixed = known_s(row, 1e9) - slope(row) * 1e9
    return (row.step_s - fixed) / slope(row)


def fitted(family: str, results: Results) -> float:
    """Return the time of 10^12 operations by which the first row is met [ps]."""
    name = calibrated(family)
    row = ROWS[name]
    return near(family) + (row.step_s - simulated_s(name, results)) / slope(row)


def simulated_s(name: str, results: Results) -> float:
    """Return the simulated time of a step, at the rate of its run [s]."""
    return quantities(results[name])[0].median


def step_s(name: str, results: Results) -> float:
    """Return the time of a step at the fitted rate [s]."""
    row = ROWS[name]
    change = fitted(row.family, results) - near(row.family)
    return simulated_s(name, results) + slope(row) * change


def figure(name: str, results: Results) -> float:
    """Return what the row publishes: a time [s], or sequences in a second."""
    row, step = ROWS[name], step_s(name, results)
    return row.batch / step if row.model == "lora" else step


def median(results: Results) -> float:
    """Return the median error of the predicted rows, of those with results [%]."""
    predicted = [name for name in ROWS if name != calibrated(ROWS[name].family)]
    errors = [abs(figure(name, results) / ROWS[name].published - 1) for name in predicted]
    return 100 * statistics.median(errors)
