"""A topology of containerlab (containerlab.dev): SONiC switches, Linux hosts.

Interface ``ethN`` is port N-1 of the fabric, as ``eth0`` is that of management; SONiC maps ``eth1``
to its first front-panel port. Labels keep rates, lengths, media and classes, which containerlab
does not know.
"""

import json
from collections.abc import Mapping

from etherweave import _core
from etherweave.api.results import Result
from etherweave.formats.listing import Cable, listing, number_text

HEAD = """\
topology:
  kinds:
    sonic-vs: {image: "docker-sonic-vs:latest"}
    linux: {image: "alpine:latest"}
  nodes:
"""


def files(fabric: _core.Fabric, _result: Result | None) -> Mapping[str, str]:
    """Write nodes and links."""
    listed = listing(fabric)
    lines = [f"name: {json.dumps(listed.name)}", HEAD.rstrip("\n")]
    kinds = dict.fromkeys(listed.levels, "sonic-vs") | dict.fromkeys(listed.hosts, "linux")
    lines += [f"    {json.dumps(name)}: {{kind: {kind}}}" for name, kind in kinds.items()]
    lines.append("  links:")
    lines += [_link(cable) for cable in listed.cables]
    name = listed.name.replace("/", "-")
    return {f"{name}.clab.yml": "\n".join(lines) + "\n"}


def _link(cable: Cable) -> str:
    ends = ", ".join(
        f"{{node: {json.dumps(name)}, interface: eth{port + 1}}}" for name, port in cable.ends
    )
    labels = [
        f"rate: {number_text(cable.rate_gbps)}Gb/s",
        f"length: {number_text(cable.length_m)}m",
        f"medium: {cable.medium}",
        *(["class: global"] if cable.link_class == "global" else []),
    ]
    return f"    - {{type: veth, endpoints: [{ends}], labels: {{{', '.join(labels)}}}}}"
