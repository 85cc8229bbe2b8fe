"""SONiC's configuration under ``yanglint``: with models of this project, or SONiC's own.

``ETHERWEAVE_SONIC_YANG`` names a directory with the models of sonic-net/sonic-buildimage.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from etherweave.cli.control.yang import refusals
from etherweave.control.qos import sonic_yang
from etherweave.control.qos.derive import ExportOptions, policy
from etherweave.control.qos.nos import SYSTEMS
from etherweave.control.qos.policy import SonicForm
from support import command_line
from support.lint_mistakes import Mistake, mistakes

ROOT = Path(__file__).parents[2]
OWN_MODELS = ROOT / "tests" / "data" / "config_db_yang"
SONIC = os.environ.get("ETHERWEAVE_SONIC_YANG")
MODELS = [
    pytest.param(OWN_MODELS, id="own"),
    pytest.param(Path(SONIC or "."), id="sonic", marks=pytest.mark.needs("sonic-yang")),
]
Tables = dict[str, Any]


def tables(
    scenario: str, switch: int = 0, device: str = "sn2700", form: tuple[bool, int] = (False, 0)
) -> Tables:
    options = ExportOptions(device=device, sonic=SonicForm(True, *form))
    result = policy(ROOT / "scenarios" / scenario, options=options)
    read: Tables = json.loads(SYSTEMS["sonic"](result, result.switches[switch])["config_db.json"])
    return read


def verdict(config: Tables, models: Path) -> str:
    """Return what ``yanglint`` says against a configuration: nothing if it is accepted."""
    return "".join(refusals([("config_db.json", json.dumps(config))], models).values())


@pytest.mark.needs("yanglint")
@pytest.mark.parametrize("models", MODELS)
@pytest.mark.parametrize("scenario", ["qos_ets.toml", "dcqcn.toml", "halo3d_tcp.toml"])
def test_what_is_written_is_accepted(scenario: str, models: Path) -> None:
    assert verdict(tables(scenario), models) == ""


@pytest.mark.needs("yanglint")
@pytest.mark.parametrize("models", MODELS)
@pytest.mark.parametrize(
    ("device", "form"),
    [
        ("sn4700", (True, 0)),
        ("sn4700", (True, 2)),
        ("sn4700", (False, 2)),
        ("tomahawk3", (False, 0)),
    ],
)
def test_every_form_is_accepted(device: str, form: tuple[bool, int], models: Path) -> None:
    assert verdict(tables("dcqcn.toml", device=device, form=form), models) == ""


REFUSED = mistakes("sonic", scenario="model")


@pytest.mark.needs("yanglint")
@pytest.mark.parametrize("models", MODELS)
@pytest.mark.parametrize("mistake", REFUSED, ids=[row.mistake for row in REFUSED])
def test_a_wrong_configuration_is_refused(mistake: Mistake, models: Path) -> None:
    config = tables("dcqcn.toml")
    mistake.spoil(config)
    assert mistake.text in verdict(config, models)


@pytest.mark.needs("yanglint")
def test_a_refusal_ends_with_1_and_names_the_switch(tmp_path: Path) -> None:
    for path in OWN_MODELS.glob("*.yang"):
        text = path.read_text().replace('range "68..9216"', 'range "68..1500"')
        (tmp_path / path.name).write_text(text)
    words = ["control", "export", str(ROOT / "scenarios" / "dcqcn.toml"), "--nos", "sonic"]
    result = command_line.invoke(*words, "--yang", tmp_path, code=1)
    assert "switch0/config_db.json: yanglint rejects it:" in result.stderr
    assert command_line.invoke(*words, "--yang", OWN_MODELS).exit_code == 0


@pytest.mark.needs("yanglint")
def test_templates_beside_the_models_are_rendered(tmp_path: Path) -> None:
    models, templates = tmp_path / "yang-models", tmp_path / "yang-templates"
    shutil.copytree(OWN_MODELS, models)
    templates.mkdir()
    text = (models / "ew-port.yang").read_text()
    (models / "ew-port.yang").unlink()
    limit = 'range "68..{% if yang_model_type == "py" %}9216{% else %}1{% endif %}"'
    template = text.replace('range "68..9216"', limit)
    (templates / "ew-port.yang.j2").write_text(template)
    assert verdict(tables("dcqcn.toml"), models) == ""
    (templates / "ew-port.yang.j2").write_text("{% if %}")
    with pytest.raises(sonic_yang.YangError, match="expected a template"):
        verdict(tables("dcqcn.toml"), models)


@pytest.mark.needs("yanglint")
def test_a_directory_without_models_is_a_mistake(tmp_path: Path) -> None:
    words = ["control", "export", str(ROOT / "scenarios" / "dcqcn.toml"), "--nos", "sonic"]
    result = command_line.invoke(*words, "--yang", tmp_path, code=2)
    assert "expected a directory with *.yang" in result.stderr


PLACES = sonic_yang.table_models(
    (path.name, path.read_text()) for path in OWN_MODELS.glob("*.yang")
)


def test_maps_nest_a_list_and_keys_are_split() -> None:
    config = {"DOT1P_TO_TC_MAP": {"M": {"3": "4"}}, "QUEUE": {"Ethernet0|3": {"scheduler": "a<b"}}}
    assert sonic_yang.xml(config, PLACES) == (
        '<ew-qos xmlns="urn:etherweave:test:qos">'
        "<DOT1P_TO_TC_MAP><DOT1P_TO_TC_MAP_LIST><name>M</name>"
        "<DOT1P_TO_TC_MAP><dot1p>3</dot1p><tc>4</tc></DOT1P_TO_TC_MAP>"
        "</DOT1P_TO_TC_MAP_LIST></DOT1P_TO_TC_MAP>"
        "<QUEUE><QUEUE_LIST><ifname>Ethernet0</ifname><qindex>3</qindex>"
        "<scheduler>a&lt;b</scheduler></QUEUE_LIST></QUEUE></ew-qos>\n"
    )


def test_the_list_is_the_one_with_as_many_keys() -> None:
    config: Tables = {"QUEUE": {"a|b|c|3": {}}}
    assert "<VOQ_QUEUE_LIST><hostname>a</hostname>" in sonic_yang.xml(config, PLACES)
    with pytest.raises(sonic_yang.YangError, match=r"QUEUE\|a: no list of QUEUE has 1 keys"):
        sonic_yang.xml({"QUEUE": {"a": {}}}, PLACES)


def test_tables_and_fields_are_known_names() -> None:
    with pytest.raises(sonic_yang.YangError, match="NOPE: no model has such a table; known: BUFF"):
        sonic_yang.xml({"NOPE": {}}, PLACES)
    with pytest.raises(sonic_yang.YangError, match="expected names of fields"):
        sonic_yang.xml({"PORT": {"Ethernet0": {"a><b": "1"}}}, PLACES)


def test_a_module_is_read_with_comments_strings_and_any_depth() -> None:
    text = """module m { // one } two
      namespace "urn:a" + ":b"; /* { */ prefix 'p}';
      container m { container T { list T_LIST { key "k"; leaf k { type string; } } } } }"""
    (place,) = sonic_yang.table_models([("m.yang", text)]).values()
    assert (place.module, place.namespace, place.table.argument) == ("m", "urn:a:b", "T")
    deep = "module m " + "{ a b " * 20_000 + "{"
    with pytest.raises(sonic_yang.YangError, match=r"m\.yang: a b: expected a \}"):
        sonic_yang.parse("m.yang", deep)


@pytest.mark.parametrize(
    "text", ["", "module m {", "module m; module n;", "}", "module m { a }", "x"]
)
def test_what_is_no_module_is_refused(text: str) -> None:
    with pytest.raises(sonic_yang.YangError, match=r"m\.yang: "):
        sonic_yang.parse("m.yang", text)
