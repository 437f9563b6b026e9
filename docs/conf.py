"""How Sphinx makes the site: ``make docs``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

HERE = Path(__file__).resolve().parent
sys.path[:0] = [
    str(HERE),
    str(HERE.parent / "workflow"),
    str(HERE.parent / "tests" / "architecture"),
]
# The same site on every machine: tutorials run on a CPU, and help is as wide as a page.
os.environ.setdefault("PYAPSP_DEVICE", "cpu")
os.environ |= {"COLUMNS": "96", "NO_COLOR": "1"}

import generated  # noqa: E402
import measured  # noqa: E402
import pictures  # noqa: E402

import pyapsp  # noqa: E402

project = "pyapsp"
author = project_copyright = "the pyapsp developers"
version = release = pyapsp.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
# A name in backticks becomes a link where it is documented. What roles and full names point to
# must exist; types in docstrings are words.
default_role = "py:obj"
nitpicky = True
nitpick_ignore = [
    ("py:func", "pyapsp.device.devices"),  # documented as pyapsp.devices
    ("py:func", "event_seconds"),
    ("py:obj", "pyapsp.networkx_backend.interface"),
]
nitpick_ignore_regex = [
    ("py:class", r"(?!pyapsp\.).*"),
    ("py:obj", r"(?!pyapsp\.).*"),
    ("py:exc", ".* .*"),
]

html_theme = "furo"
html_title = f"pyapsp {release}"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {"navigation_with_keys": True}

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_merge_streams = True

# Types are in the docstrings, with shapes and units.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_use_ivar = True


class Picture(SphinxDirective):
    """A picture by its name; the content is the caption."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Make the figure."""
        caption = " ".join(self.content)
        drawn = pictures.svg(self.arguments[0], caption)
        figure = nodes.figure("", nodes.raw("", drawn, format="html"))
        figure += nodes.caption(caption, "", *self.parse_inline(caption)[0])
        return [figure]


def _generated(make: Callable[[], str]) -> type[SphinxDirective]:
    """Return a directive that puts generated Markdown into the page."""

    class Generated(SphinxDirective):
        def run(self) -> list[nodes.Node]:
            """Parse it."""
            return self.parse_text_to_nodes(make(), allow_section_headings=True)

    return Generated


def _of_records(make: Callable[[str], str]) -> type[SphinxDirective]:
    """Return a directive that makes Markdown of the records that its arguments name."""

    class OfRecords(SphinxDirective):
        required_arguments = 1
        optional_arguments = 99

        def run(self) -> list[nodes.Node]:
            """Parse it."""
            text = "\n\n".join(map(make, self.arguments))
            return self.parse_text_to_nodes(text, allow_section_headings=True)

    return OfRecords


def setup(app: Sphinx) -> None:
    """Register the directives."""
    app.add_directive("picture", Picture)
    app.add_directive("commands", _generated(generated.commands))
    app.add_directive("methods", _generated(generated.methods_table))
    app.add_directive("papers", _of_records(measured.papers))
    app.add_directive("automatic", _generated(measured.automatic))
    app.add_directive("overview", _generated(measured.overview))
    app.add_directive("exhibits", _generated(measured.exhibits))
    app.add_directive("records", _of_records(measured.benches))
    app.add_directive("networkx", _generated(generated.networkx_functions))
    app.add_directive("layers", _generated(generated.layers))
    app.add_directive("programs", _generated(generated.programs_table))
