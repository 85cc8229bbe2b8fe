"""Writers of formats, a module each."""
