"""Microbenchmarks of a device, and what their results say of it."""
