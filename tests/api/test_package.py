import tomllib
from pathlib import Path

import etherweave

ROOT = Path(__file__).parents[2]


def test_the_core_carries_the_workspace_version() -> None:
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    assert etherweave.__version__ == manifest["workspace"]["package"]["version"]
