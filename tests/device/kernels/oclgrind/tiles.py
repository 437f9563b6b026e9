"""The smallest form of fw-minplus with tiles, for several scripts."""

TILES = {
    "form": "tiles",
    "tile": 32,
    "rows": 2,
    "words": 2,
    "group_x": 8,
    "group_y": 8,
    "slice": 8,
    "vector": 2,
}
