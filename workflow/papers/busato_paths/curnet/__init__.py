"""[B] chapter 21: cuRnet, searches and components for users of R, beside igraph."""
