"""Tests of the draft for inference, a file a chapter."""
