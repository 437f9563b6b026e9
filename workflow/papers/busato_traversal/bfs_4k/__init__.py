"""[B] chapter 6: breadth-first search, BFS-4K and what it is compared with."""
