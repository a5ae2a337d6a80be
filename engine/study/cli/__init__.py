"""The commands of this wing."""

from mage_es.cli.entries import CommandEntry
from mage_es.engine.study.cli import baseline, demo, matrix, report, ring, score, tryout

COMMANDS = (
    CommandEntry("Learn", 1, demo.demo, demo.EXAMPLES),
    CommandEntry("Learn", 2, tryout.tryout, tryout.EXAMPLES, name="try"),
    CommandEntry("Learn", 50, matrix.matrix, matrix.EXAMPLES),
    CommandEntry("Measure", 20, baseline.baseline, baseline.EXAMPLES),
    CommandEntry("Measure", 21, ring.ring, ring.EXAMPLES),
    CommandEntry("Measure", 22, report.report, report.EXAMPLES),
    CommandEntry("Measure", 50, score.score, score.EXAMPLES),
)
