"""[O], chapter 4: iterative blocked Floyd-Warshall."""
