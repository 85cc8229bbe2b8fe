"""Sections of one run."""
