"""What all figures of reports share: their colours, and how they become SVG."""

from __future__ import annotations

import io
import re

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

__all__ = ["COLOURS", "inline", "svg"]

#: The colours of Okabe and Ito, which colour-blind readers can tell apart, without the yellow,
#: which is too faint for a line.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")


def svg(figure: Figure) -> str:
    """Return a figure as an SVG document; the same figure gives the same bytes."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        # the solver of the layout rounds in another way each time, and ids depend on every bit
        axes.set_position(Bbox(np.round(axes.get_position().get_points(), 9)))
        axes.set_in_layout(True)
    text = io.StringIO()
    # the salt fixes the ids inside the file; text remains text, for search and screen readers
    with mpl.rc_context({"svg.hashsalt": "pyapsp", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    return text.getvalue()


def inline(document: str, name: str) -> str:
    """Return an SVG document as an element of a page, with ids unique in the page."""
    element = document[document.index("<svg") :]
    return re.sub(r'(\bid="|\burl\(#|href="#)', rf"\g<1>{name}-", element)
