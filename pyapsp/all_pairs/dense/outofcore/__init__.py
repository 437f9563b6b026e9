"""Floyd-Warshall with the matrix in host memory or in a file, a part at a time on the device."""
