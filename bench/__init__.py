"""Measurements of this project on one machine: `python -m bench`, see docs/benchmarks.md."""
