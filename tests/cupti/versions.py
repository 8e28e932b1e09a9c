"""versions.py CC SOURCE BUILD CRT [VERSION ...]

The tests against the toolkit's headers and library, for each CUDA from 11.8 to 13.5: NVIDIA's wheels
have both. SOURCE and BUILD are the trees; CRT is a toolkit's include folder, for crt/, which the
wheels lack. TIDEMARK_TEST_LIBCUDA names a folder with a driver's libcuda.so.1, without which the
records of 13.2 and later cannot be stepped over. Prints a row for each; 77: no wheels to be had.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

# CUDA: the versions of its CUPTI and its runtime, and what stands behind the names of the wheels.
VERSIONS = {
    "11.8": ("11.8.87", "11.8.89", "-cu11"),
    "12.0": ("12.0.146", "12.0.146", "-cu12"),
    "12.1": ("12.1.105", "12.1.105", "-cu12"),
    "12.2": ("12.2.142", "12.2.140", "-cu12"),
    "12.3": ("12.3.101", "12.3.101", "-cu12"),
    "12.4": ("12.4.127", "12.4.127", "-cu12"),
    "12.5": ("12.5.82", "12.5.82", "-cu12"),
    "12.6": ("12.6.80", "12.6.77", "-cu12"),
    "12.8": ("12.8.90", "12.8.90", "-cu12"),
    "12.9": ("12.9.79", "12.9.79", "-cu12"),
    "13.0": ("13.0.85", "13.0.96", ""),
    "13.1": ("13.1.115", "13.1.80", ""),
    "13.2": ("13.2.86", "13.2.75", ""),
    "13.3": ("13.3.75", "13.3.29", ""),
    "13.4": ("13.4.92", "13.4.92", ""),
    "13.5": ("13.5.25", "13.5.37", ""),
}
TESTS = ("abi", "calls", "records")
INCLUDES = ("profiler", "ring", "base", "include", "recorder", "tests/support", "tests/profiler")
LIBRARIES = ("tests/libtest_support.a", "profiler/libprofiler.a", "ring/libring.a", "base/libbase.a")


class NoWheel(Exception):
    """pip, or what it fetches, is not to be had."""


def fetch(version, folder):
    cupti, runtime, suffix = VERSIONS[version]
    for name in (f"nvidia-cuda-cupti{suffix}=={cupti}", f"nvidia-cuda-runtime{suffix}=={runtime}"):
        done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder,
                               name], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if done.returncode:
            raise NoWheel(f"{name}: {done.stderr.decode(errors='replace').strip()[-200:]}")
    for wheel in glob.glob(f"{folder}/*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)


def build(arguments, folder, test):
    headers = sum((["-isystem", path] for path in glob.glob(f"{folder}/nvidia/*/include")), [])
    library = glob.glob(f"{folder}/nvidia/*/lib/libcupti.so.*")[0]
    program = f"{folder}/test_{test}"
    subprocess.run(
        [arguments.cc, "-std=c11", "-D_GNU_SOURCE", f'-DTEST_CUPTI="{library}"', *headers,
         "-idirafter", arguments.crt, *(f"-I{arguments.source}/{path}" for path in INCLUDES),
         f"{arguments.source}/tests/cupti/test_cupti_{test}.c", "-o", program,
         *(f"{arguments.build}/{path}" for path in LIBRARIES), "-ldl", "-lm", "-lpthread"], check=True)
    return program


def judge(program):
    """ok, skipped or FAILED, and what it said if it failed."""
    environ = dict(os.environ)
    if os.environ.get("TIDEMARK_TEST_LIBCUDA"):
        environ["LD_LIBRARY_PATH"] = os.environ["TIDEMARK_TEST_LIBCUDA"]
    done = subprocess.run([program], env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, timeout=900)
    said = done.stdout.decode(errors="replace")
    if done.returncode == 0:
        return ("skipped" if "skip" in said.lower() else "ok"), ""
    return ("skipped", "") if done.returncode == 77 else ("FAILED", said)


class Arguments:
    """The command line."""

    def __init__(self, words):
        self.cc, self.source, self.build, self.crt = words[:4]
        self.versions = words[4:] or list(VERSIONS)


def main():
    arguments = Arguments(sys.argv[1:])
    failed = []
    print("CUDA  " + "  ".join(f"{test:8}" for test in TESTS))
    for version in arguments.versions:
        folder = tempfile.mkdtemp(prefix="cupti-")
        try:
            fetch(version, folder)
            verdicts = [judge(build(arguments, folder, test)) for test in TESTS]
        except NoWheel as why:
            print(f"{version}: {why}")
            return 77
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(f"{version:5} " + "  ".join(f"{verdict:8}" for verdict, _ in verdicts), flush=True)
        failed += [said for _, said in verdicts if said]
    print("".join(failed))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
