"""[T], tables 3.4 and 3.5: distances for the diameter and the average path length."""
