"""[B] chapter 9: components in several steps, with parameters."""
