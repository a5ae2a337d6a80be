"""`python -m mage_es`: the command `mage-es`, for when its script is not on the path."""

from mage_es.cli import main

if __name__ == "__main__":
    main()
