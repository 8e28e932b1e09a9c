"""Children that are forked while other threads capture: their stacks are right, in old and in new
threads, and they end."""
import ctypes
import os
import sys
import threading
import time

import support
from support import agree, site, site_without_gil

CHILDREN = 40
stop = False


def busy(i):
    """New stacks all the time, so that the table is being changed at any moment."""
    space = {"take": site_without_gil}
    while not stop:
        i += 1
        exec("def f%d():\n    take()\nfor _ in range(30):\n    f%d()\n" % (i, i), space)
        del space["f%d" % i]


def child():
    if support.with_gil.probe_begin_child() != 0:
        os._exit(2)
    support.compared = 0
    del support.failures[:]

    def work():
        for _ in range(5):
            agree(site())
            agree(site_without_gil())
            exec("agree(site())", {"agree": agree, "site": site})
    work()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    for failure in support.failures:
        print("in a child:", failure, flush=True)
    wrong = support.failures or support.compared != 30 or not support.with_gil.probe_is_valid()
    wrong = wrong or not support.with_gil.probe_stacks()
    os._exit(1 if wrong else 0)


hold = support.without_gil.probe_hold_lock
hold.argtypes = [ctypes.c_double, ctypes.c_void_p]
support.begin()
kept = agree(site()) and site()
before = support.read(kept)
workers = [threading.Thread(target=busy, args=(n * 1000000,)) for n in range(2)]
for worker in workers:
    worker.start()
wrong = 0
for i in range(CHILDREN):
    time.sleep(0.002)
    if i % 10 == 0:  # a thread that the child does not have holds the lock
        held = ctypes.c_int(0)
        holder = threading.Thread(target=hold, args=(0.03, ctypes.byref(held)))
        holder.start()
        while not held.value:
            time.sleep(0.0005)
    pid = os.fork()
    if pid == 0:
        child()
    for _ in range(2000):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        time.sleep(0.005)
    else:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        status = "hung"
    if status != 0:
        wrong += 1
        print("a child ended with", status)
    agree(site())
    if i % 10 == 0:
        holder.join()
stop = True
for worker in workers:
    worker.join()
if wrong or support.read(kept) != before:
    sys.exit("%d of %d children were wrong" % (wrong, CHILDREN))
support.finish(CHILDREN)
