"""Where time and energy go: microbenchmarks of devices, and criteria of kernels."""
