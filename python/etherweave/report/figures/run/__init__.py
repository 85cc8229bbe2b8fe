"""Exhibits of one run."""
