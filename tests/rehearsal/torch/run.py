"""run.py values|idioms|training|neighbours|whole|compiled|unknown|exchange|profiler|ends|asserts: a program rehearsed with the CUDA build of PyTorch in TIDEMARK_VENV_CUDA."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TIDEMARK = os.environ["TIDEMARK"]


def say(done):
    print(done.stdout.decode(errors="replace")[-4000:])
    return done


def command(*words):
    return say(subprocess.run([TIDEMARK] + list(words), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False))


def unknown_is_told(database):
    report = command("peak", database, "--all").stdout.decode()
    lines = report.splitlines()
    return (lines[1].startswith("2 sizes came from values that are not computed, taken as 0: index")
            and "unknown.py:" in lines[1] and "_unique2" in lines[1]
            and lines[2].startswith("3 numbers that the program read are not computed, and were 0:"
                                    " item (<module> (unknown.py:"))


def whole_is_told(database):
    lines = command("peak", database, "--all").stdout.decode().splitlines()
    return lines[1].startswith("14 numbers that the program read are not computed, and were 0:")


def one(database, query):
    done = command("sql", database, query, "--format", "csv")
    return done.stdout.decode().splitlines()[1]


def profile_hides_nothing(database):
    """The recorder and torch.profiler listen beside each other."""
    return (one(database, "SELECT count(*) FROM gap") == "0"
            and "driver callbacks" in one(database, "SELECT live FROM process")
            and one(database, "SELECT sum(size) >= 671088640, sum(heap IS NULL) FROM driver_memory") == "1,0"
            and one(database, "SELECT count(*) FROM anomaly") == "0")


CHECKS = {"unknown": unknown_is_told, "whole": whole_is_told, "profiler": profile_hides_nothing}


def main():
    python = os.path.join(os.environ.get("TIDEMARK_VENV_CUDA", "/nowhere"), "bin", "python3")
    if not os.path.exists(python):
        print("TIDEMARK_VENV_CUDA names no virtual environment with a CUDA build of PyTorch")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        database = os.path.join(folder, "run.db")
        done = command("rehearse", "--gpu", "a100-40gb", "--gpus", "3", "-o", database, "--", python,
                       os.path.join(HERE, sys.argv[1] + ".py"))
        if done.returncode != 0:
            return 1
        check = CHECKS.get(sys.argv[1])
        return 0 if not check or check(database) else 1


if __name__ == "__main__":
    sys.exit(main())
