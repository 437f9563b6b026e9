"""Number types: what they hold, bounds of distances, arithmetic in kernels, checks of values."""
