#!/usr/bin/env python3
"""`record --metrics` with a Prometheus: docs/metrics.md has what came.

    metrics-check.py TIDEMARK PYTHON FOLDER

Rehearses a training on a GPU of 4 GiB which keeps 32 MiB more in each step, with a Prometheus that scrapes it
once a second and has the rules of docs/metrics. Asks each query of the dashboard while it runs, checks the text with
promtool, and says when each alert fired before the allocation failed. PYTHON has a torch that was built for CUDA.
Exit status 1: a query had no answer, or no alert came before the failure.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DOCS = os.path.join(SOURCE, "docs", "metrics")
TRAINING = """import time
import torch
model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(8)]).cuda()
optimizer = torch.optim.Adam(model.parameters())
kept = []
while True:
    loss = model(torch.randn(64, 1024, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    kept.append(torch.empty(8 << 20, device="cuda"))
    time.sleep(0.5)
"""
CONFIG = """global:
  scrape_interval: 1s
  evaluation_interval: 1s
rule_files: [rules.yml]
scrape_configs:
  - job_name: tidemark
    static_configs:
      - targets: ["127.0.0.1:9477"]
"""
RUN, SERVER = "127.0.0.1:9477", "127.0.0.1:9478"
# What this training has nothing of.
NOTHING = {"tidemark_inactive_split_bytes": "PyTorch does not report segments as they come"}


def get(address, path, **values):
    url = "http://%s%s?%s" % (address, path, urllib.parse.urlencode(values))
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def ask(what, **values):
    return json.loads(get(SERVER, "/api/v1/" + what, **values))["data"]["result"]


def until(condition, seconds=300):
    end = time.time() + seconds
    while time.time() < end:
        try:
            found = condition()
        except OSError:
            found = None
        if found:
            return found
        time.sleep(0.5)
    raise SystemExit("waited %d s for nothing" % seconds)


def queries():
    """Title and text, with all of each variable."""
    with open(os.path.join(DOCS, "dashboard.json")) as file:
        board = json.load(file)
    own = [(panel["title"], one["expr"]) for panel in board["panels"] for one in panel["targets"]]
    own += [(one["name"], one["expr"]) for one in board["annotations"]["list"]]
    for one in board["templating"]["list"]:
        if one["type"] == "query":
            text = one["definition"]
            own.append((one["name"], "count by (%s) (%s)" % tuple(
                reversed(text[len("label_values("):-1].rsplit(", ", 1)))))
    for title, text in own:
        for variable in ("run", "rank", "device"):
            text = text.replace("$" + variable, ".*")
        yield title, text.replace("$__rate_interval", "15s")


def check_queries():
    failed = 0
    for title, text in queries():
        rows = ask("query", query=text)
        why = [reason for name, reason in NOTHING.items() if name in text]
        if not rows and title == "Refused requests":
            why = ["nothing was refused yet"]
        failed += not rows and not why
        print("%3d series  %s%s  %s" % (len(rows), title, " (%s)" % why[0] if why else "", text))
    return failed


def check_text():
    text = get(RUN, "/metrics")
    done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True)
    print("promtool check metrics: status %d, %d bytes\n%s" % (done.returncode, len(text), done.stderr), end="")
    return done.returncode not in (0, 3)  # 3: advice on style


def first_of(query, label, began, ended):
    """When there was a value first, by label."""
    rows = ask("query_range", query=query, start=began, end=ended + 30, step=1)
    return {row["metric"].get(label): float(row["values"][0][0]) for row in rows}


def check_alerts(began, ended):
    """When each alert fired, beside the scrape that has the refused request."""
    failed = min(first_of("tidemark_oom_total > 0", "run", began, ended).values(), default=ended)
    print("a request was refused after %.0f s" % (failed - began))
    fired = first_of('ALERTS{alertstate="firing"}', "alertname", began, ended)
    for name, at in sorted(fired.items(), key=lambda pair: pair[1]):
        print("%s fired after %.0f s" % (name, at - began))
    return not any(at < failed for at in fired.values())


def main():
    tidemark, python, folder = (os.path.abspath(path) for path in sys.argv[1:4])
    shutil.rmtree(os.path.join(folder, "data"), ignore_errors=True)
    os.makedirs(folder, exist_ok=True)
    shutil.copy(os.path.join(DOCS, "rules.yml"), folder)
    for name, text in (("prometheus.yml", CONFIG), ("training.py", TRAINING)):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    log = open(os.path.join(folder, "prometheus.log"), "w")
    server = subprocess.Popen(["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data",
                               "--web.listen-address=" + SERVER], cwd=folder, stdout=log, stderr=log)
    try:
        return watch(tidemark, python, folder)
    finally:
        server.terminate()
        server.wait()


def watch(tidemark, python, folder):
    command = [tidemark, "rehearse", "--gpu", "cc=8.0,memory=4GiB,sms=20", "--history", "--force", "--metrics", RUN,
               "-o", "run.db", "--", python, "training.py"]
    with open(os.path.join(folder, "run.log"), "w") as log:
        run = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        return checks(run)
    finally:  # also where nothing came: the program has no end of its own
        if run.poll() is None:
            run.terminate()
            run.wait()


def checks(run):
    began = time.time()
    until(lambda: ask("query", query="tidemark_step >= 20"))
    failed = check_queries() + check_text()
    run.wait()
    ended = time.time()
    time.sleep(5)  # for alerts that come behind it
    return 1 if failed + check_alerts(began, ended) else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main())
