"""Configurations of SKUs, rendered from a checkout of sonic-net/sonic-buildimage.

A switch of SONiC without a configuration renders ``qos.json.j2`` and ``buffers.json.j2`` of its SKU
(``device/VENDOR/PLATFORM/SKU``) with its ports, and ``buffermgrd`` adds profiles of lossless groups
from ``pg_profile_lookup.ini``. This module does the same.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from etherweave.control.qos.devices import LookupTable, read_lookup
from etherweave.control.qos.policy import PolicyError

Tables = dict[str, Any]

ROLES = ("", "LeafRouter", "ToRRouter")  # Roles of DEVICE_METADATA; none: the SKU's.
TEMPLATES = ("qos.json.j2", "buffers.json.j2", "buffers_dynamic.json.j2")
LOOKUP = "pg_profile_lookup.ini"


@dataclass(frozen=True)
class Sku:
    root: Path
    folder: Path

    @property
    def name(self) -> str:
        """Vendor, platform and SKU."""
        return "/".join(self.folder.parts[-3:])

    def lookup(self) -> LookupTable:
        """Return the table of headroom, empty where there is none."""
        path = self.folder / LOOKUP
        try:
            return read_lookup(self.name, path.read_text()) if path.exists() else {}
        except PolicyError:
            return {}

    def tables(self, role: str, buffers: str = "buffers.json.j2") -> Tables:
        """Render the configuration of a switch that has none."""
        meta = {"hostname": "sku", "hwsku": self.folder.name} | ({"type": role} if role else {})
        own: Tables = {"DEVICE_METADATA": {"localhost": meta}, "PORT": ports(self.folder)}
        environment = _environment(self)
        for template in ("qos.json.j2", buffers):
            text = environment.get_template(template).render(own)
            own |= json.loads(re.sub(r",(\s*[}\]])", r"\1", text))
        return own | self._lossless(own)

    def _lossless(self, tables: Tables) -> Tables:
        """Return the groups that ``buffermgrd`` makes of the table, in the traditional model."""
        lookup, lengths = self.lookup(), tables.get("CABLE_LENGTH", {}).get("AZURE", {})
        pool = "ingress_lossless_pool"
        if not lookup or pool not in tables.get("BUFFER_POOL", {}):
            return {}
        profiles, groups = dict(tables["BUFFER_PROFILE"]), dict(tables.get("BUFFER_PG", {}))
        for port, settings in _by_port(tables.get("PORT_QOS_MAP", {})):
            priorities = settings.get("pfc_enable", "")
            length = int(lengths.get(port, "0m").rstrip("m"))
            row = lookup.get((int(tables["PORT"][port]["speed"]), length))
            if not priorities or row is None:
                continue
            name = f"pg_lossless_{tables['PORT'][port]['speed']}_{length}m_profile"
            sizes = {"size": str(row.size), "xon": str(row.xon), "xoff": str(row.xoff)}
            profiles[name] = {"pool": pool, "dynamic_th": "0", **sizes}
            groups |= {f"{port}|{part}": {"profile": name} for part in priorities.split(",")}
        return {"BUFFER_PROFILE": profiles, "BUFFER_PG": groups}


def skus(root: Path) -> Iterator[Sku]:
    """Return all SKUs that have ports and both templates, or a table of headroom."""
    for folder in sorted(root.glob("device/*/*/*/")):
        if any((folder / name).exists() for name in (*TEMPLATES, LOOKUP)):
            yield Sku(root, folder)


def ports(folder: Path) -> dict[str, dict[str, str]]:
    """Return PORT of a SKU: from ``port_config.ini``, otherwise from ``hwsku.json``."""
    table = folder / "port_config.ini"
    if table.exists():
        return dict(_of_table(table.read_text()))
    return dict(_of_platform(folder))


def _of_table(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    names = ["name", "lanes", "alias", "index", "speed"]
    for line in text.splitlines():
        if line.startswith("#"):
            names = line.strip("# ").split() if "name" in line else names
        elif words := line.split():
            fields = dict(zip(names, words, strict=False))
            role = {"role": fields["role"]} if "role" in fields else {}
            speed = fields.get("speed", "40000")
            yield fields["name"], {"speed": speed, "admin_status": "up", **role}


def _of_platform(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Read the modes of ports, such as 2x200G[100G,50G], and their lanes."""
    document = json.loads((folder.parent / "platform.json").read_text())["interfaces"]
    for name, own in json.loads((folder / "hwsku.json").read_text())["interfaces"].items():
        mode = own["default_brkout_mode"]
        lanes, at = len(document[name]["lanes"].split(",")), 0
        for part in mode.split("+"):
            match = re.match(r"(\d+)x(\d+)G?[^()]*(?:\((\d+)\))?", part)
            assert match, f"{folder}: {mode}: expected a mode as 2x200G(4)"
            count, rate, used = match.groups()
            step = int(used or lanes) // int(count)
            for _ in range(int(count)):
                port = f"Ethernet{int(name.removeprefix('Ethernet')) + at}"
                speed = int(rate) * (1 if int(rate) > 1000 else 1000)
                yield port, {"speed": str(speed), "admin_status": "up"}
                at += step


def _by_port(table: Tables) -> Iterator[tuple[str, Tables]]:
    for key, entry in table.items():
        for port in key.split(","):
            if port != "global":
                yield port, entry


def _environment(sku: Sku) -> jinja2.Environment:
    """Make what ``sonic-cfggen`` gives its templates."""
    folders = [sku.folder, sku.root / "files" / "build_templates"]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([str(folder) for folder in folders]),
        trim_blocks=True,
        extensions=["jinja2.ext.do"],
    )
    environment.globals["template_exists"] = lambda name: any(
        (folder / name).exists() for folder in folders
    )
    environment.filters["sort_by_port_index"] = _sort
    return environment


def _sort(names: list[str]) -> None:
    names.sort(key=lambda name: int(re.sub(r"\D", "", name) or 0))
