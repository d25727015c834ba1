"""What the interpreter is started with: `python FOLDER` runs this file with the folder first on its path.

Any Python must be able to read it, so that one which is too old can say so.
"""

import json
import os
import sys

if sys.version_info < (3, 10):
    version = "%d.%d" % sys.version_info[:2]
    message = "%s is Python %s, which is too old" % (sys.executable, version)
    outcome = {"kind": "unusable", "reason": "old_python", "message": message, "traceback": None}
    facts = {"outcome": outcome, "python": version, "torch": None, "cuda": None, "notes": [], "steps": 0, "batches": 0}
    facts.update({"reads": [], "used_cuda": False})
    with open(os.path.join(json.loads(os.environ["OOMPH_PLAN"])["folder"], "facts.json"), "w") as file:
        json.dump(facts, file)
    sys.exit(1)

from oomph.start import main  # noqa: E402

sys.exit(main())
