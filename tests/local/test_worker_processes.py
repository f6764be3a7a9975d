"""Processes that work for another end when that one does."""

import os
import select
import signal
import subprocess
import sys

PARENT = """
import os, sys, time
from kept.local.workers import start_processes
if __name__ == "__main__":
    with start_processes(1) as workers:
        print(workers.executor.submit(os.getpid).result(), flush=True)
        sys.stdin.read()
"""


def test_workers_end_when_the_process_that_started_them_is_killed(tmp_path):
    (script := tmp_path / "parent.py").write_text(PARENT)
    with subprocess.Popen([sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        worker = os.pidfd_open(int(parent.stdout.readline()))
        parent.send_signal(signal.SIGKILL)
    assert select.select([worker], [], [], 60)[0]
    os.close(worker)
