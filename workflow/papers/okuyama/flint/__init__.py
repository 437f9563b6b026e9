"""Chapter 5 of [O]: Flint, the simulator of models of physiology."""
