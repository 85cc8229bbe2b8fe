"""A small question for advice: two fabrics, a job, and prices, which takes a second."""

from pathlib import Path

PRICES = """\
about = "Prices of a test"
currency = "USD"

[switch]
"4 x 100Gb/s" = { value = "1000 USD", basis = "published", source = "a test", date = "2026-01" }

[nic]
"25Gb/s" = { value = "100 USD", basis = "published", source = "a test", date = "2026-01" }
"100Gb/s" = { value = "400 USD", basis = "example", source = "a test" }

[cable]
"25Gb/s copper 3m" = { value = "10 USD", basis = "published", source = "a test", date = "2026-01" }
"100Gb/s copper 3m" = { value = "20 USD", basis = "published", source = "a test", date = "2026-01" }

[electricity]
kilowatt_hour = { value = "0.2 USD", basis = "published", source = "a test", date = "2026-01" }
overhead = { value = 1.5, basis = "published", source = "a test" }
"""
POWER = """\
about = "Power of a test"

[switch]
fixed = { value = "100W", basis = "published", source = "a test" }

[port]
"25Gb/s copper" = { value = "1W", basis = "published", source = "a test" }
"100Gb/s copper" = { value = "2W", basis = "published", source = "a test" }
"""
SLOW = """
[[fabric]]
name = "slow"
interconnect.profile = "ethernet-25-roce"
topology.single_switch.hosts = 4
"""
FAST = """
[[fabric]]
name = "fast"
interconnect.profile = "ethernet-100-roce"
topology.single_switch.hosts = 4
"""
JOB = """
[[job]]
name = "stream"
workload.osu_bw = { bytes = "1MiB", window = 4, iterations = 2, warm_up = 0 }
"""
SETTINGS = """\
samples = 8
trajectories = 0
years = 2
prices = "prices.toml"
power = "power.toml"
"""


def write(home: Path, *parts: str, prices: str = PRICES) -> Path:
    """Write a question of parts, by default a whole one, and the files that it names."""
    (home / "prices.toml").write_text(prices)
    (home / "power.toml").write_text(POWER)
    path = home / "question.toml"
    path.write_text("".join(parts or (SETTINGS, SLOW, FAST, JOB)))
    return path
