"""truthworld: a generated world with a known law, in which the true effect of every memory can be computed.

It is a measuring instrument for tests and figures, no part of the product, and a plug-in as any other package may
offer one: the benchmark `truthworld`, and its models `truth/learner`, `truth/guide` and `truth/judge`. Importing this
package puts its entry points on the path.
"""

import sys
from pathlib import Path

_HERE = str(Path(__file__).parent)
if _HERE not in sys.path:
    sys.path.append(_HERE)
