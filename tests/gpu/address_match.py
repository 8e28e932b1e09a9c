"""Whether a replay puts every block where PyTorch put it.

    address_match.py TIDEMARK DATABASE...

Exit status: 0 every address of every recording came out, 1 not, 77 if none was compared.
"""
import json
import os
import subprocess
import sys


def fits_of(tidemark, path):
    output = subprocess.run([tidemark, "fit", path, "--format", "json"], stdout=subprocess.PIPE,
                            check=True).stdout
    return json.loads(output)["tables"]["fit"]


def main():
    tidemark, paths = sys.argv[1], sys.argv[2:]
    compared = exact = 0
    for path in paths:
        for fit in fits_of(tidemark, path):
            match = fit["address_match"]
            print("%-28s %7d allocations, address_match %s" % (
                os.path.basename(path), fit["allocations"], match))
            if match is not None:
                compared += 1
                exact += match == 1
    print("figures: %d of %d replays put every block where PyTorch did" % (exact, compared))
    return 77 if not compared else 0 if exact == compared else 1


if __name__ == "__main__":
    sys.exit(main())
