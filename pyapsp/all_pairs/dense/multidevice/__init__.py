"""Floyd-Warshall on several devices that hold the matrix together."""
