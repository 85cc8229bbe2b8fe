"""A root file system for guests, of this machine's own programs and a kernel's modules.

Kernel and modules come from a directory into which a kernel's package was unpacked: ``boot`` and
``lib/modules``. The DMP client inside is Etherweave's own.
"""

import gzip
import json
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import etherweave

PROGRAMS = ("qemu-system-x86_64", "busybox", "cpio", "modprobe", "depmod")
"""Needed on this machine."""
INSIDE = ("rdma", "ib_send_lat", "ib_write_bw")  # Copied into guests, with their libraries.
MODULES = ("virtio_pci", "virtio_net", "rdma_rxe", "ib_uverbs", "crc32_generic", "rdma_ucm")
"""``crc32_generic`` is needed through the kernel's crypto interface, which modules.dep omits."""
_PROVIDER = "librxe-rdmav*.so"
_TIMEOUT_S = 60.0
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


class ImageError(Exception):
    """Something is missing for guests; the message says what."""


class GuestKernel(NamedTuple):
    """A kernel and its modules."""

    file: Path
    root: Path  # Holds ``lib/modules``.
    release: str


def missing() -> str:
    """Return which programs for guests this machine lacks; empty: none."""
    absent = [name for name in (*PROGRAMS, *INSIDE) if shutil.which(name, path=_PATH) is None]
    if absent:
        packages = "qemu-system-x86 busybox-static cpio kmod rdma-core ibverbs-providers perftest"
        return f"{', '.join(absent)}: not found; expected the packages {packages}"
    return "" if _providers() else f"{_PROVIDER}: not found; expected the package ibverbs-providers"


def find_kernel(root: Path) -> GuestKernel:
    """Find the kernel of a directory, the newest if there are several.

    Raises
    ------
    ImageError
        If there is none, or its modules are missing.
    """
    matches = sorted((root / "boot").glob("vmlinuz-*"))
    if not matches:
        raise ImageError(f"{root}: no boot/vmlinuz-*; expected a kernel's package, unpacked")
    release = matches[-1].name.removeprefix("vmlinuz-")
    if not (root / "lib" / "modules" / release).is_dir():
        raise ImageError(f"{root}: no lib/modules/{release}; expected the kernel's modules")
    return GuestKernel(matches[-1], root, release)


def build(directory: Path, kernel: GuestKernel) -> Path:
    """Write the root file system of a guest.

    Returns
    -------
    Path
        Of a compressed initramfs in the directory.

    Raises
    ------
    ImageError
        If a program fails; the message has its error.
    """
    root = directory / "root"
    for place in ("bin", "modules", "proc", "sys", "dev", "tmp", "etc/libibverbs.d"):
        (root / place).mkdir(parents=True)
    _modules(root, kernel)
    _programs(root)
    _python(root)
    init = root / "init"
    init.write_text((resources.files(__package__) / "init.sh").read_text(encoding="utf-8"))
    init.chmod(0o755)
    return _packed(root, directory / "initramfs.gz")


def _modules(root: Path, kernel: GuestKernel) -> None:
    if not (kernel.root / "lib" / "modules" / kernel.release / "modules.dep").exists():
        _run("depmod", "-b", str(kernel.root), kernel.release)
    options = ("-d", str(kernel.root), "-S", kernel.release, "--show-depends")
    lines = [line for name in MODULES for line in _run("modprobe", *options, name).splitlines()]
    # Those that are built in need no file.
    files = dict.fromkeys(Path(line.split()[1]) for line in lines if line.startswith("insmod"))
    for file in files:
        shutil.copy(file, root / "modules")
    (root / "modules" / "order").write_text("".join(f"{file.name}\n" for file in files))


def _programs(root: Path) -> None:
    copied = [Path(_which(name)) for name in ("busybox", *INSIDE)]
    for program in copied:
        shutil.copy(program, root / "bin" / program.name)
    providers = _providers()
    for provider in providers:
        _copy_to_same_path(root, provider)
    (root / "etc" / "libibverbs.d" / "rxe.driver").write_text("driver rxe\n")
    _libraries(root, [*copied, *providers])


def _providers() -> list[Path]:
    libraries = Path("/usr/lib") / (sysconfig.get_config_var("MULTIARCH") or "")
    return sorted((libraries / "libibverbs").glob(_PROVIDER))


def _python(root: Path) -> None:
    """Copy the interpreter, and those modules that the program inside needs."""
    interpreter = Path(sys.executable).resolve()
    python_home = root / "python"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library, standard = python_home / "lib" / version, Path(sysconfig.get_path("stdlib"))
    for place in (python_home / "bin", library / "lib-dynload"):
        place.mkdir(parents=True)
    shutil.copy(interpreter, python_home / "bin" / "python")
    package, own = Path(etherweave.__file__).parent, Path(__file__).parent
    binaries = [interpreter]
    for file in _needed(package, own):
        above = next(
            (home.parent for home in (package, own) if file.is_relative_to(home)), standard
        )
        _copy_with_cache(file, library / file.relative_to(above))
        binaries += [file] if ".so" in file.suffixes else []
    # The package's own __init__ loads the compiled core, which no guest needs.
    (library / package.name / "__init__.py").write_text("")
    _libraries(root, binaries)


def _needed(package: Path, own: Path) -> list[Path]:
    """Return the files that an interpreter reads for the program inside."""
    script = (
        "import json, sys, types; sys.path[:0] = sys.argv[1:3]; "
        "package = types.ModuleType('etherweave'); package.__path__ = [sys.argv[3]]; "
        "sys.modules['etherweave'] = package; "
        "import guests.inside, runpy, encodings.utf_8, encodings.ascii; "
        "print(json.dumps([module.__file__ for module in sys.modules.values() "
        "if getattr(module, '__file__', None)]))"
    )
    paths = map(str, (package.parent, own.parent, package))
    return [
        Path(file) for file in json.loads(_run(sys.executable, "-I", "-S", "-c", script, *paths))
    ]


def _copy_with_cache(file: Path, target: Path) -> None:
    """Copy a module and, to save an emulated processor the work, its compiled form."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(file, target)
    cached = file.parent / "__pycache__" / f"{file.stem}.{sys.implementation.cache_tag}.pyc"
    if cached.exists():
        (target.parent / "__pycache__").mkdir(exist_ok=True)
        shutil.copy2(cached, target.parent / "__pycache__")


def _libraries(root: Path, binaries: Iterable[Path]) -> None:
    """Copy the shared libraries of programs."""
    for binary in binaries:
        done = subprocess.run(["ldd", str(binary)], capture_output=True, text=True)
        for word in done.stdout.split():
            if word.startswith("/"):
                _copy_to_same_path(root, Path(word))


def _copy_to_same_path(root: Path, file: Path) -> None:
    target = root / file.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, target)


def _packed(root: Path, target: Path) -> Path:
    names = sorted(str(path.relative_to(root)) for path in root.rglob("*"))
    listing = "".join(f"{name}\0" for name in names).encode()
    options = ("--null", "-o", "-H", "newc", "--quiet", "-R", "+0:+0")
    done = subprocess.run(["cpio", *options], input=listing, capture_output=True, cwd=root)
    if done.returncode:
        raise ImageError(f"cpio: {done.stderr.decode(errors='replace').strip()}")
    target.write_bytes(gzip.compress(done.stdout, compresslevel=1))
    shutil.rmtree(root)
    return target


def _which(name: str) -> str:
    matches = shutil.which(name, path=_PATH)
    if matches is None:
        raise ImageError(f"{name}: not found")
    return matches


def _run(program: str, *arguments: str) -> str:
    command: Sequence[str] = [shutil.which(program, path=_PATH) or program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S)
    if done.returncode:
        raise ImageError(f"{program}: {done.stderr.strip()[-400:]}")
    return done.stdout
