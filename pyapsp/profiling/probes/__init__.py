"""Probes in kernels: OpenCL C is parsed, and counters, clocks and records are inserted into it."""
