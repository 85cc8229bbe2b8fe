"""Spack's recipe: the source distribution of ``make wheel``, built by Rust."""

from spack.package import depends_on, license, variant, version  # noqa: A004 - Spack's word
from spack_repo.builtin.build_systems.python import PythonPackage


class PyEtherweave(PythonPackage):
    """Simulate Ethernet HPC fabrics packet by packet, from one scenario file."""

    pypi = "etherweave/etherweave-0.1.0.tar.gz"
    license("Apache-2.0")
    version("0.1.0")

    variant("mpi", default=False, description="One simulation on several processes")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-typer@0.16:", type=("build", "run"))
    depends_on("py-rich@14:", type=("build", "run"))
    depends_on("py-polars@1.20:", type=("build", "run"))
    depends_on("py-pyarrow@18:", type=("build", "run"))
    depends_on("py-maturin@1.9:1", type="build")
    depends_on("rust@1.95:", type="build")
    depends_on("c", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("llvm+clang", type="build", when="+mpi")

    def setup_build_environment(self, env):
        """Compile with MPI where that is asked for."""
        if self.spec.satisfies("+mpi"):
            env.set("MATURIN_PEP517_ARGS", "--features mpi")
