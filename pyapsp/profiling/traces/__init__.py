"""Traces of launches: kernels with probes run, and their records become criteria and work."""
