"""Readers of formats, a module each."""
