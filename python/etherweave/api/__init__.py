"""Functions and values of the Python package; :mod:`etherweave` exports the public ones by name."""
