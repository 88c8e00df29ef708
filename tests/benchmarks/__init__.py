"""Measurements, each a short program of its own: `python -m tests.benchmarks.<name>`."""
