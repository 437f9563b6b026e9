"""[O], chapter 3: searches from sources."""
