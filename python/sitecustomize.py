"""What every Python process of a watched job runs first: `oomph` puts this folder on `PYTHONPATH`.

Any Python must be able to read this file, so that one which is too old can say so.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def watch():
    """Starts watching, if this process belongs to a job that is to be watched."""
    if "OOMPH_JOB" not in os.environ:
        return
    if sys.version_info < (3, 10):
        refuse()
        return
    from oomph import session

    session.begin()


def refuse():
    """Says that this Python is too old for a plan, where `oomph` looks for the result. A real run goes on unwatched."""
    import json

    settings = json.loads(os.environ["OOMPH_JOB"])
    if settings["kind"] == "run" or os.getppid() != settings["supervisor"]:
        return
    version = "%d.%d" % sys.version_info[:2]
    message = "%s is Python %s, which is too old" % (sys.executable, version)
    outcome = {"kind": "unusable", "reason": "old_python", "message": message, "traceback": None}
    folder = os.path.join(settings["folder"], "processes", "%d-0" % os.getpid())
    os.makedirs(folder)
    with open(os.path.join(folder, "facts.jsonl"), "w") as file:
        for fact in (["process", {"pid": os.getpid(), "python": version}], ["end", {"outcome": outcome}]):
            file.write(json.dumps(fact) + "\n")
    os._exit(1)


def run_the_users_own():
    """Another `sitecustomize` further down the path would have been run without ours."""
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        from importlib.util import module_from_spec

        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


# The script finds the path it would have had.
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != HERE]
sys.path.insert(0, HERE)
watch()
sys.path.remove(HERE)
run_the_users_own()
