"""The commands of this wing."""

from mage_es.cli.entries import CommandEntry
from mage_es.engine.histories.cli import bisect, diff, effect, fork, merge, rejudge, upgrade, what_if

COMMANDS = (
    CommandEntry("Learn", 25, fork.fork, fork.EXAMPLES),
    CommandEntry("Learn", 30, upgrade.upgrade, upgrade.EXAMPLES),
    CommandEntry("Learn", 40, merge.merge, merge.EXAMPLES),
    CommandEntry("Measure", 30, effect.effect, effect.EXAMPLES),
    CommandEntry("Measure", 40, what_if.what_if, what_if.EXAMPLES, name="what-if"),
    CommandEntry("Measure", 45, rejudge.rejudge, rejudge.EXAMPLES),
    CommandEntry("Look", 40, diff.diff, diff.EXAMPLES),
    CommandEntry("Look", 50, bisect.bisect, bisect.EXAMPLES),
)
