"""The shell script that configures the NIC of a host.

NICs of NVIDIA take ``mlnx_qos``, others ``dcb`` of iproute2; the script uses the first that it
finds. It is called as ``host0.sh DEVICE RDMA_DEVICE``.
"""

from collections.abc import Iterator

from etherweave.control.qos.policy import FlowControl, HostPolicy, Policy, Priority

ECT = 2
"""ECN-capable transport (RFC 3168), the lower two bits beside a code point."""


def script(policy: Policy, host: HostPolicy) -> str:
    """Write the script of a host."""
    sections = (
        _head(policy, host),
        [f'ip link set dev "$device" mtu {policy.mtu_bytes}'],
        _pause(policy),
        _classes(policy),
        _roce(policy),
        ["sysctl -q -w net.ipv4.tcp_ecn=1"] if policy.marking else [],
    )
    return "\n".join(line for section in sections for line in section) + "\n"


def traffic_class(priority: Priority) -> int:
    """Return the traffic class octet of RoCE applications: code point and ECN-capable."""
    return priority.mark << 2 | ECT


def _head(policy: Policy, host: HostPolicy) -> list[str]:
    jobs = [
        f"# {_plain(job.name)}: priority {job.priority}, UCX_IB_SL={job.priority} "
        f"UCX_IB_TRAFFIC_CLASS={traffic_class(policy.priorities[job.priority])}"
        for job in policy.jobs
    ]
    return [
        "#!/bin/sh",
        f"# {host.name}, plugged into {host.switch} port {host.switch_port}.",
        *jobs,
        "set -eu",
        "device=${1:-eth0}",
        "rdma=${2:-mlx5_0}",
    ]


def _plain(name: str) -> str:
    """Keep a name within its comment."""
    return "".join(sign if sign.isprintable() else "?" for sign in name)


def _pause(policy: Policy) -> list[str]:
    state = "on" if policy.flow_control is FlowControl.GLOBAL_PAUSE else "off"
    return [f'ethtool -A "$device" autoneg off rx {state} tx {state} || true']


def _classes(policy: Policy) -> Iterator[str]:
    lossless = {one.number for one in policy.lossless} if policy.is_pfc else set()
    # A class without weight that no job uses gets the rest, as in the testbed.
    tsa = ["strict" if one.is_used and not one.weight else "ets" for one in policy.classes]
    weights = [one.weight for one in policy.classes]
    classes = [one.traffic_class for one in policy.priorities]
    moved = [
        (dscp, one.number)
        for one in policy.priorities
        for dscp in one.dscps
        if dscp >> 3 != one.number
    ]
    yield "if command -v mlnx_qos > /dev/null; then"
    pfc = ",".join("1" if number in lossless else "0" for number in range(8))
    yield f'  mlnx_qos -i "$device" --trust dscp --pfc {pfc}'
    yield (
        f'  mlnx_qos -i "$device" --prio_tc {_joined(classes)} --tsa {_joined(tsa)} '
        f"--tcbw {_joined(weights)}"
    )
    for dscp, priority in moved:
        yield f'  mlnx_qos -i "$device" --dscp2prio set,{dscp},{priority}'
    yield "else"
    on = "".join(f" {number}:on" for number in sorted(lossless))
    yield f'  dcb pfc set dev "$device" prio-pfc all:off{on}'
    yield (
        f'  dcb ets set dev "$device" tc-tsa {_pairs(tsa)} tc-bw {_pairs(weights)} '
        f"prio-tc {_pairs(classes)}"
    )
    for one in policy.priorities:
        pairs = " ".join(f"{dscp}:{one.number}" for dscp in one.dscps)
        if pairs:
            yield f'  dcb app replace dev "$device" dscp-prio {pairs}'
    yield "fi"


def _joined(values: list[str] | list[int]) -> str:
    return ",".join(str(value) for value in values)


def _pairs(values: list[str] | list[int]) -> str:
    return " ".join(f"{number}:{value}" for number, value in enumerate(values))


def _roce(policy: Policy) -> Iterator[str]:
    """Set the first lossless priority as default, and enable DCQCN."""
    if not policy.is_roce:
        return
    lossless = policy.lossless or policy.priorities[:1]
    octet = traffic_class(lossless[0])
    yield f'cma_roce_tos -d "$rdma" -t {octet}'
    yield f'echo {octet} > "/sys/class/infiniband/$rdma/tc/1/traffic_class"'
    if policy.cnp_dscp is None:
        return
    for one in lossless:
        for point in ("roce_np", "roce_rp"):
            yield f'echo 1 > "/sys/class/net/$device/ecn/{point}/enable/{one.number}"'
    owner = policy.priority_of_dscp()[policy.cnp_dscp]
    yield f'echo {policy.cnp_dscp} > "/sys/class/net/$device/ecn/roce_np/cnp_dscp"'
    yield f'echo {owner} > "/sys/class/net/$device/ecn/roce_np/cnp_802p_prio"'
