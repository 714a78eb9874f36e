"""The first process of ann's session: runs programs in it as the scenario asks, one line of JSON for each."""

from __future__ import annotations

import json
import subprocess
import sys

import secret

running: list[subprocess.Popen[bytes]] = []
for line in sys.stdin:
    asked = json.loads(line)
    command = asked["command"]
    if asked["how"] == "start":
        # Its errors go where the scenario shows them if a step fails.
        with open("/home/ann/errors", "ab") as errors:
            running.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors))
        answer = {"pid": running[-1].pid}
    elif asked["how"] == "end":
        codes = [program.poll() for program in running]
        for program in running:
            program.kill()
            program.wait()
        running.clear()
        answer = {"codes": codes}
    else:
        done = secret.with_passcode(command) if asked["how"] == "with passcode" else subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        answer = {"status": done.returncode, "output": done.stdout[-4000:]}
    print(json.dumps(answer), flush=True)
