"""``python -m pyapsp`` is the ``pyapsp`` command."""

from pyapsp.cli import main

raise SystemExit(main())
