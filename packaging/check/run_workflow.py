"""run_workflow.py WORKFLOW FOLDER: runs what the `run:` parts of a GitHub workflow say, in FOLDER, in
order, as a runner does: bash -e, `if: failure()` and `if: always()` heeded. Steps that use an action are
named and left out; of setup-python there is an environment of this Python. Ends as the job ends.
"""
import os
import subprocess
import sys
import venv
from pathlib import Path

import yaml


def wanted(step, failed):
    condition = step.get("if", "success()")
    known = {"success()": not failed, "failure()": failed, "always()": True}
    return known[condition]


def run(step, folder, environment):
    print("+ " + step["run"].strip(), flush=True)
    done = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=folder, env=environment)
    return done.returncode != 0


def main():
    folder = Path(sys.argv[2]).resolve()
    workflow = yaml.safe_load(Path(sys.argv[1]).read_text(encoding="utf-8"))
    venv.create(folder / ".venv", with_pip=True)
    environment = dict(os.environ, PATH=f"{folder}/.venv/bin:{os.environ['PATH']}")
    environment["GITHUB_STEP_SUMMARY"] = str(folder / "summary.md")
    failed = False
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            if "run" not in step:
                print("- not run here: " + step["uses"], flush=True)
            elif wanted(step, failed):
                failed = run(step, folder, environment) or failed
    print("the job " + ("failed" if failed else "passed"))
    sys.exit(failed)


if __name__ == "__main__":
    main()
