"""Questions of the generated benchmarks in the tests: far more than a small run asks for, and soon opened."""

FEW = {"evolution": 1_000, "test": 200}
FEW_EPISODES = {"evolution": 120, "test": 40}
IN_A_PROCESS = f"from mage_es.engine.players.worlds.wordmath import benchmark\nbenchmark.SIZES.update({FEW!r})\n"
"""How the code of a process of its own begins, so that it has as many."""
COMMAND = ("-c", f"{IN_A_PROCESS}from mage_es.cli import main; main()")
"""What Python is given to run our command so."""
