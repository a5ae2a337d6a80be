"""The commands of this wing."""

from mage_es.cli.entries import CommandEntry
from mage_es.engine.serving.cli import gain, mcp, publish, serve

COMMANDS = (
    CommandEntry("Serve", 10, serve.serve, serve.EXAMPLES),
    CommandEntry("Serve", 20, mcp.mcp, mcp.EXAMPLES),
    CommandEntry("Serve", 30, publish.publish, publish.EXAMPLES),
    CommandEntry("Serve", 40, gain.gain, gain.EXAMPLES),
)
