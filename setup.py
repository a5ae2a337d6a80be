"""What pyproject.toml cannot say: which packages lie in the four folders, and that there is no Windows."""

import sys

from setuptools import find_packages, setup

if sys.platform == "win32":
    sys.exit(
        "mage-es does not work on Windows itself. In its Subsystem for Linux (wsl --install) it does: install there."
    )
found = find_packages(include=("cli*", "engine*", "events*", "projections*"), exclude=("engine._package",))
setup(packages=["mage_es", *(f"mage_es.{name}" for name in found)])
