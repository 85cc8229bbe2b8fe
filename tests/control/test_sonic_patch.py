"""JSON patches of running SONiC switches (RFC 6902)."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from etherweave.control.lint import lint, read
from etherweave.control.qos.derive import policy
from etherweave.control.qos.nos import files
from etherweave.control.qos.policy import PolicyError
from support import command_line

SCENARIO = Path(__file__).parents[2] / "scenarios" / "dcqcn.toml"
PORTS = [f"Ethernet{4 * number}" for number in range(5)]


def running() -> dict[str, Any]:
    """Return a switch as an installer leaves it, with more than the export knows."""
    group = {"profile": "old"}
    return {
        "DEVICE_METADATA": {"localhost": {"hostname": "switch0", "hwsku": "ACS-MSN2700"}},
        "PORT": {port: {"lanes": "1", "speed": "100000", "admin_status": "up"} for port in PORTS},
        "VLAN": {"Vlan7": {"vlanid": "7"}},
        "CABLE_LENGTH": {"AZURE": {"Ethernet0": "300m", "Ethernet124": "40m"}},
        "BUFFER_PG": {f"{PORTS[0]}|3-4": group, "Ethernet124|3-4": group},
        "BUFFER_PROFILE": {
            "old": {"pool": "ingress_lossless_pool", "size": "1", "dynamic_th": "0"}
        },
        "DSCP_TO_TC_MAP": {"AZURE": {"0": "1"}, "odd/name~": {"0": "1"}},
    }


def applied(tables: dict[str, Any], patch: list[dict[str, Any]]) -> dict[str, Any]:
    """Apply a patch as the standard says."""
    result = copy.deepcopy(tables)
    for operation in patch:
        *above, last = (
            part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]
        )
        place = result
        for part in above:
            place = place[part]
        assert operation["op"] == "add" or last in place, operation
        if operation["op"] == "remove":
            del place[last]
        else:
            place[last] = operation["value"]
    return result


def test_a_patch_makes_the_exported_settings_and_leaves_all_others() -> None:
    written = files(policy(SCENARIO), "sonic", {"switch0": running()})
    patch = json.loads(written["switch0/patch.json"])
    result = applied(running(), patch)
    exported = json.loads(written["switch0/config_db.json"])
    for table in ("BUFFER_POOL", "PORT_QOS_MAP", "QUEUE"):
        assert result[table] == exported[table]
    for table in ("DEVICE_METADATA", "PORT", "VLAN"):
        assert result[table] == running()[table]
    assert result["CABLE_LENGTH"]["AZURE"] == dict.fromkeys(PORTS, "5m") | {"Ethernet124": "40m"}
    # A range over an exported group would set it, too.
    assert f"{PORTS[0]}|3-4" not in result["BUFFER_PG"] and "Ethernet124|3-4" in result["BUFFER_PG"]
    assert result["DSCP_TO_TC_MAP"].keys() == {"AZURE", "odd/name~", "ETHERWEAVE"}


def test_a_patch_of_what_is_as_it_should_be_is_empty() -> None:
    result = policy(SCENARIO)
    first = files(result, "sonic", {"switch0": running()})["switch0/patch.json"]
    done = applied(running(), json.loads(first))
    assert json.loads(files(result, "sonic", {"switch0": done})["switch0/patch.json"]) == []


def test_a_patched_switch_has_no_finding_that_loses_packets() -> None:
    written = files(policy(SCENARIO), "sonic", {"switch0": running()})
    result = applied(running(), json.loads(written["switch0/patch.json"]))
    for port in result["PORT"].values():
        port["mtu"] = "9000"
    # Of a port that the switch does not have.
    del result["BUFFER_PG"]["Ethernet124|3-4"], result["CABLE_LENGTH"]["AZURE"]["Ethernet124"]
    assert lint(read({"switch0.json": json.dumps(result)})) == []


def test_a_switch_with_other_ports_is_rejected() -> None:
    other = running() | {"PORT": {"Ethernet0": {}, "Ethernet8": {}}}
    with pytest.raises(PolicyError, match="switch0: the running configuration has no port Eth"):
        files(policy(SCENARIO), "sonic", {"switch0": other})


def test_running_switches_are_read_from_a_directory(tmp_path: Path) -> None:
    words = ["control", "export", str(SCENARIO), "--nos", "sonic", "--running", str(tmp_path)]
    result = command_line.invoke(*words, code=2)
    assert "expected SWITCH/config_db.json" in result.stderr
    (tmp_path / "switch0").mkdir()
    (tmp_path / "switch0" / "config_db.json").write_text(json.dumps(running()))
    result = command_line.invoke(*words, "-o", str(tmp_path / "new"), code=0)
    assert json.loads((tmp_path / "new" / "switch0" / "patch.json").read_text())
