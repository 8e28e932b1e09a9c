"""Puts what has to travel to a machine with a GPU into a folder, beside what `cmake --install` put
there: the samples of samples/cuda, and every test labelled gpu with the built files that it names.

    pack.py BUILD FOLDER [CTEST]

FOLDER/tests.json then has, for each test, its command and environment. A path there begins with
@PACK@ for this folder or @TREE@ for the source tree; run_tests.py puts in where they are.
"""
import json
import os
import shutil
import subprocess
import sys


class Pack(object):
    def __init__(self, build, folder):
        self.build = os.path.realpath(build)
        self.tree = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
        self.folder = folder
        self.installed = {}
        for name in ("bin/tidemark", "lib/tidemark/libtidemark.so", "lib/libtidemark_alloc.so"):
            self.installed[os.path.basename(name)] = name

    def take(self, path):
        """A file of the build, copied unless an installed one stands for it; its name there."""
        base = os.path.basename(path)
        if base in self.installed and os.path.exists(
                os.path.join(self.folder, self.installed[base])):
            return "@PACK@/" + self.installed[base]
        name = os.path.join("tests", os.path.relpath(path, self.build).replace(os.sep, "+"))
        target = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy2(path, target)
        return "@PACK@/" + name

    def moved(self, text):
        """An argument, or the value of a variable, for another machine."""
        real = os.path.realpath(text)
        if os.path.isabs(text) and os.path.isfile(text) and real.startswith(self.build + os.sep):
            return self.take(real)
        return text.replace(self.build, "@PACK@").replace(self.tree, "@TREE@")

    def test(self, described):
        properties = {one["name"]: one["value"] for one in described.get("properties", ())}
        if "gpu" not in properties.get("LABELS", ()) or not described.get("command"):
            return None
        environment = dict(one.split("=", 1) for one in properties.get("ENVIRONMENT", ()))
        return {"name": described["name"],
                "command": [self.moved(word) for word in described["command"]],
                "environment": {name: self.moved(value) for name, value in environment.items()},
                "timeout": float(properties.get("TIMEOUT", 60))}

    def samples(self):
        folder = os.path.join(self.build, "samples", "cuda")
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            path = os.path.join(folder, name)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                os.makedirs(os.path.join(self.folder, "samples"), exist_ok=True)
                shutil.copy2(path, os.path.join(self.folder, "samples", name))
                yield name

    def tools(self):
        folder = os.path.join(self.build, "tests", "gpu")
        for name in ("verify", "libinject_0.so", "libinject_1.so"):
            if os.path.exists(os.path.join(folder, name)):
                os.makedirs(os.path.join(self.folder, "tests"), exist_ok=True)
                shutil.copy2(os.path.join(folder, name), os.path.join(self.folder, "tests", name))
                yield name


def main():
    build, folder = sys.argv[1:3]
    ctest = sys.argv[3] if len(sys.argv) > 3 else "ctest"
    pack = Pack(build, folder)
    os.makedirs(folder, exist_ok=True)
    described = json.loads(subprocess.run(
        [ctest, "--test-dir", build, "--show-only=json-v1"], stdout=subprocess.PIPE,
        check=True).stdout)
    tests = [test for test in map(pack.test, described["tests"]) if test]
    with open(os.path.join(folder, "tests.json"), "w") as file:
        json.dump(tests, file, indent=1)
    print("packed %d tests; samples: %s; tools: %s" % (
        len(tests), ", ".join(pack.samples()) or "none", ", ".join(pack.tools()) or "none"))


if __name__ == "__main__":
    main()
