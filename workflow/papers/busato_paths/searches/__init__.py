"""[B] chapter 8: H-BF, its optimisations, and what it is compared with."""
