"""Questions about few of the distances: searches whose time depends on what they reach."""
