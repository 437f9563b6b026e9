"""[T], tables 3.6 to 3.9: many graphs at once."""
