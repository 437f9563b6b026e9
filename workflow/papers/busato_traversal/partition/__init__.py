"""[B] chapters 3 to 5: formats of graphs, and techniques that divide work."""
