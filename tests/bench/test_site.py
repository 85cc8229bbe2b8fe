"""Site files: what they say, and how mistakes in them are reported."""

import json
from functools import partial
from pathlib import Path

import pytest

from etherweave.bench.launchers.registry import LAUNCHERS
from etherweave.bench.site import reading
from etherweave.bench.site.reading import profiles
from etherweave.bench.site.reframe import converted
from etherweave.bench.site.values import ClusterSite, SiteError
from support import command_line


def written(name: str) -> str:
    return (Path(__file__).parents[1] / "data" / "sites" / name).read_text()


ALASKA = written("alaska.toml")


def read(text: str) -> ClusterSite:
    return reading.site(text, "site.toml")


def refused(old: str, new: str) -> str:
    """Return how the file is rejected in which one thing is changed."""
    assert ALASKA.count(old) == 1
    with pytest.raises(SiteError) as reported:
        read(ALASKA.replace(old, new))
    return str(reported.value)


def test_a_site_is_read_in_base_units() -> None:
    site = read(ALASKA)
    assert (site.name, site.launcher, site.modules) == ("alaska", "mpirun", ("gnu8", "openmpi3"))
    assert site.texts("arguments") == ("--bind-to", "core")
    assert site.host("n2").address == "10.0.0.2"
    assert site.link("roce").rate == 25e9 / 8
    assert site.link("eth").addresses == (("n1", "10.1.0.1"),)


def test_fabrics_are_the_switches_with_which_the_prototype_chose_them() -> None:
    # --mca btl openib,self,vader --mca btl_openib_if_include mlx5_1:1, and btl tcp,self,vader
    # --mca btl_tcp_if_include p3p2, which a site may change.
    site = read(ALASKA)
    roce, eth = dict(site.link("roce").environment), dict(site.link("eth").environment)
    assert roce["OMPI_MCA_btl"] == "openib,self,vader"
    assert roce["OMPI_MCA_btl_openib_if_include"] == "mlx5_1:1"
    assert eth["OMPI_MCA_btl"] == "tcp,self"
    assert eth["OMPI_MCA_btl_tcp_if_include"] == "p3p2"


@pytest.mark.parametrize(
    ("old", "new", "reported"),
    [
        ('address = "10.0.0.2"', "adress = 1", "site.toml:15: hosts.n2.adress: unknown key; "),
        ('kind = "mpirun"', 'kind = "pbs"', "site.toml:5: launcher.kind: 'pbs'; expected one of"),
        ('kind = "mpirun"', "", "site.toml:4: launcher.kind: is missing; expected one of local"),
        ('["--bind-to", "core"]', '"x"', "site.toml:6: launcher.arguments: 'x'; expected a list"),
        ("arguments = [", "rate = [", "site.toml:6: launcher.rate: unknown key; expected one of"),
        ('"10.0.0.1"', '"-oProxyCommand=x"', "site.toml:12: hosts.n1.address: '-oProxyCommand=x'"),
        ('kind = "roce"', 'kind = "rocky"', "expected one of roce, infiniband, tcp, ipoib"),
        ('device = "mlx5_1:1"', "", "site.toml:17: fabrics.roce: OMPI_MCA_btl_openib_if_include"),
        ('interface = "p3p2"', 'interface = "a b"', "site.toml:27: fabrics.eth.interface: 'a b'"),
        ('n1 = "10.1.0.1"', 'n9 = "10.1.0.1"', "site.toml:28: fabrics.eth.addresses.n9: unknown"),
        ('OMP_NUM_THREADS = "1"', '"A B" = "1"', "site.toml:9: environment.A B: is no name"),
        ('name = "alaska"', "name = ", "site.toml: Invalid value (at line 1, column 8); expected"),
        ("[hosts.n2]", "[hosts.n1.more]", "site.toml:14: hosts.n1.more: unknown key; expected"),
        ('stack = "open_mpi"\nrate = "25Gb/s"\ndevice', 'stack = "mpi"\ndevice', ".stack: 'mpi'"),
        ('rate = "25Gb/s"\ndevice', "rate = 25\ndevice", "site.toml:20: fabrics.roce.rate: 25; "),
        ('modules = ["gnu8", "openmpi3"]', "modules = [1]", "site.toml:2: modules: [1]; expected"),
    ],
)
def test_mistakes_have_line_key_and_what_is_expected(old: str, new: str, reported: str) -> None:
    said = refused(old, new)
    assert reported in said
    assert "expected" in said or "is no name" in said


def test_a_host_may_name_its_switch() -> None:
    site = read(ALASKA.replace('address = "10.0.0.2"', 'switch = "leaf0"'))
    assert [host.switch for host in site.hosts] == [None, "leaf0"]
    reported = refused('address = "10.0.0.2"', 'switch = "leaf 0"')
    assert reported.startswith("site.toml:15: hosts.n2.switch: 'leaf 0'; expected a text such as")


def test_a_site_without_hosts_is_rejected() -> None:
    with pytest.raises(SiteError, match=r"hosts: is missing; expected \[hosts.n1\]"):
        read('launcher = { kind = "local" }')


def test_no_host_is_taken_that_the_file_does_not_name() -> None:
    with pytest.raises(SiteError, match="host n3: is not of site alaska; expected n1, n2"):
        read(ALASKA).host("n3")


@pytest.mark.parametrize("kind", profiles())
def test_every_stack_of_every_fabric_names_one_interface_or_nic(kind: str) -> None:
    for stack in profiles()[kind]:
        text = ALASKA.replace(
            'kind = "tcp"\nstack = "open_mpi"', f'kind = "{kind}"\nstack = "{stack}"'
        )
        said = read(text.replace("p3p2", 'p3p2"\ndevice = "mlx5_0:1')).link("eth").environment
        assert any(value in ("p3p2", "mlx5_0:1", "mlx5_0") for _, value in said)


@pytest.mark.parametrize("name", LAUNCHERS)
def test_every_launcher_prints_what_is_missing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    site = read(f'launcher = {{ kind = "{name}" }}\nhosts = {{ n1 = {{}} }}')
    monkeypatch.setenv("PATH", "")
    launcher = LAUNCHERS[name].make(site, None)
    assert launcher.name == name
    assert "not found: " in launcher.missing()


DAINT = {
    "systems": [
        {
            "name": "daint",
            "hostnames": ["daint"],
            "modules": ["cray"],
            "partitions": [
                {
                    "name": "gpu",
                    "scheduler": "slurm",
                    "launcher": "srun",
                    "access": ["-C gpu", "--account=x"],
                    "environs": ["gnu"],
                    "env_vars": [["OMP_NUM_THREADS", 12]],
                },
                {"name": "login", "scheduler": "local", "launcher": "local", "environs": []},
            ],
        }
    ],
    "environments": [{"name": "gnu"}],
}


def test_a_reframe_partition_becomes_a_site_whose_hosts_are_to_be_filled_in(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(DAINT))
    text = converted(file, "daint:gpu")
    with pytest.raises(SiteError, match="hosts: is missing"):
        read(text)
    site = read(text.replace("# [hosts.n1]", "[hosts.nid0]"))
    assert (site.name, site.launcher) == ("daint-gpu", "sbatch")
    assert site.texts("arguments") == ("-C", "gpu", "--account=x")
    assert (site.modules, site.environment) == (("cray",), (("OMP_NUM_THREADS", "12"),))


def test_a_python_literal_is_read_and_a_local_partition_needs_no_more(tmp_path: Path) -> None:
    file = tmp_path / "settings.py"
    file.write_text(f"import os\n\nsite_configuration = {DAINT!r}\n")
    assert read(converted(file, "daint:login")).launcher == "local"


def test_python_is_never_executed(tmp_path: Path) -> None:
    file, witness = tmp_path / "settings.py", tmp_path / "executed"
    file.write_text(f"site_configuration = open({str(witness)!r}, 'w').write('x')\n")
    with pytest.raises(SiteError, match=r"settings\.py:1: site_configuration: is computed"):
        converted(file)
    assert not witness.exists()


@pytest.mark.parametrize(
    ("name", "text", "reported"),
    [
        ("a.json", "{", "expected JSON"),
        ("a.json", "[" * 100_000, "expected JSON"),
        ("a.json", "[]", "expected systems with partitions"),
        ("a.json", '{"systems": [{"name": "a", "partitions": 3}]}', "expected systems"),
        ("a.py", "x = 1", "does not assign site_configuration"),
        ("a.py", "def", "expected JSON, or a Python file"),
        ("a.json", json.dumps(DAINT), "2 partitions; expected --partition with daint:gpu"),
    ],
)
def test_foreign_files_are_reported(tmp_path: Path, name: str, text: str, reported: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SiteError, match=reported):
        converted(tmp_path / name)


verb = partial(command_line.invoke, "bench", "site")


def test_the_verb_prints_what_a_file_says(tmp_path: Path) -> None:
    (tmp_path / "here.toml").write_text(
        'launcher = { kind = "local" }\nhosts = { n1 = {} }\n'
        'fabrics = { eth = { kind = "tcp", stack = "ucx", rate = "25Gb/s", interface = "p3p2" } }'
    )
    done = verb(tmp_path / "here.toml", code=0)
    assert done.stdout.splitlines()[0] == "here, started by local"
    assert "fabric eth: tcp by ucx, 25 Gb/s" in done.stdout
    assert ["UCX_NET_DEVICES", "p3p2"] in [line.split() for line in done.stdout.splitlines()]
    facts = json.loads(verb(tmp_path / "here.toml", "--json").stdout)
    assert (facts["launcher"], facts["links"][0]["rate"]) == ("local", 3.125e9)


def test_the_verb_prints_a_launchers_options_with_their_units(tmp_path: Path) -> None:
    launcher = 'kind = "netns", rate = "250Mb/s", burst = "6KiB"'
    (tmp_path / "here.toml").write_text(f"launcher = {{ {launcher} }}\nhosts = {{ n1 = {{}} }}\n")
    rows = [line.split() for line in verb(tmp_path / "here.toml").stdout.splitlines()]
    assert ["rate", "250", "Mb/s"] in rows
    assert ["burst", "6,144", "B"] in rows


def test_the_verb_ends_with_1_when_the_launcher_is_missing_and_with_2_after_mistakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    file = tmp_path / "site.toml"
    file.write_text(ALASKA)
    assert verb(file).exit_code == 1
    file.write_text(ALASKA + "x = 1")
    assert verb(file).exit_code == 2
    assert verb(tmp_path / "none.toml").exit_code == 2
    assert verb().exit_code == 2


def test_the_verb_prints_a_site_from_reframe(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(DAINT))
    done = verb("--import-reframe", file, "--partition", "daint:login")
    assert read(done.stdout).launcher == "local"
    assert verb("--import-reframe", file).exit_code == 2
