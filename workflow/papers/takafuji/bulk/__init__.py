"""[T], chapter 4: bulk execution."""
