"""Tests of the draft for training, a file a chapter."""
