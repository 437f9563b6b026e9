"""Topic of [B]: chapter 7, Helix."""
