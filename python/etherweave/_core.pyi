def version() -> str:
    """Version of the core, as in ``Cargo.toml``."""
