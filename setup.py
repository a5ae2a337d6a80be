"""Refuses an installation on Windows; everything else is in pyproject.toml, which cannot refuse one."""

import sys

from setuptools import setup

if sys.platform == "win32":
    sys.exit(
        "mage-es does not work on Windows itself. In its Subsystem for Linux (wsl --install) it does: install there."
    )
setup()
