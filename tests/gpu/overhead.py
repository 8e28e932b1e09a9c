"""What recording costs a training: the same program bare, recorded, and recorded with each of the
options given, in turns.

    overhead.py TIDEMARK OUT DEVICE ROUNDS STEPS SECONDS [OPTION...]

No round is begun that would not be over in so many seconds. Compared are the medians of a step; of each variant the best round counts, for other work on the
machine only adds. Exit status: 0 recorded costs at most 2 %, 1 more.
"""
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 1.02


def median_of(command):
    output = subprocess.run(command, stdout=subprocess.PIPE, check=True, universal_newlines=True,
                            stdin=subprocess.DEVNULL).stdout
    for line in output.splitlines():
        if line.startswith("step "):
            return float(line.split()[1])
    raise SystemExit("no step was timed by: " + " ".join(command))


def main():
    begin = time.monotonic()
    tidemark, out, device, rounds, steps, seconds = sys.argv[1:7]
    program = [sys.executable, os.path.join(HERE, "steps.py"), "--device", device, "--steps", steps]
    variants = {"bare": program}
    for option in [""] + sys.argv[7:]:
        database = os.path.join(out, "overhead%s.db" % option.replace("--", "-"))
        variants["recorded " + option] = [tidemark, "record", "-o", database] + option.split() + [
            "--"] + program
    best = {}
    for number in range(int(rounds)):
        took = time.monotonic() - begin
        if number and took * (number + 1) / number > float(seconds):
            break
        for name, command in variants.items():
            if "-o" in command and os.path.exists(command[3]):
                os.remove(command[3])
            median = median_of(command)
            best[name] = min(best.get(name, median), median)
            print("round %d, %-24s %9.4f ms a step" % (number, name, median), flush=True)
    ratios = {name: median / best["bare"] for name, median in best.items() if name != "bare"}
    print("figures: bare %.3f ms a step; %s" % (best["bare"], "; ".join(
        "%s %.3f times" % (name.strip(), ratio) for name, ratio in ratios.items())))
    return 0 if ratios["recorded "] <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
