"""Start, use, break and take down stores, and write what happened. tools/stores calls this in namespaces of its own."""

from __future__ import annotations

import argparse
import datetime
import json
import re
import shutil
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True

import steps as all_steps
import table
from machines import Failed, Refused, make_network
from scene import ERROR, FAIL, NONE, REFUSED, Result, Scene
from store import FILES, Store
from vaults import Program

RESULTS = FILES / "results"


def say(text: str) -> None:
    print(text, flush=True)


def try_step(step: all_steps.Step, scene: Scene) -> Result:
    try:
        return step(scene)
    except Refused as refused:
        return Result(REFUSED, str(refused))
    except Failed as failed:
        return Result(ERROR, str(failed))
    # A workload's words that are no JSON, or a machine that has ended: the step has failed, and the next one goes on.
    except Exception as error:  # pylint: disable=broad-except
        traceback.print_exc()
        return Result(ERROR, f"{type(error).__name__}: {error}")
    finally:
        scene.end()


def without_folders(text: str) -> str:
    """Says "the store of machine 2" for a folder of this run, whose name says nothing to a reader."""
    text = re.sub(r"/\S*/m(\d)/(store|vault)(/[\w/.-]*)?", r"(the \2 of machine \1)", text)
    return re.sub(r"/\S*/latchkey-stores\.\w+[\w/.-]*", "(a folder)", text)


def write(name: str, record: dict[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def run_store(name: str, program: Program, scratch: Path, tools: Path, wanted: list[str]) -> bool:
    folder = scratch / name
    folder.mkdir()
    store = Store(name, folder)
    path = RESULTS / f"{name}.json"
    record: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"steps": {}}
    record.update(store=name, about=store.about, version=store.version(),
                  date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"))
    say(f"== {name}: {record['version']}")
    begin = time.monotonic()
    try:
        store.call("start", seconds=240)
    except Failed as failed:
        say(f"   {'start':10} fail    {failed}")
        record["starts"] = str(failed)
        write(name, record)
        stop(store)
        return False
    record["starts"] = ""
    good = True
    try:
        for step_name, step in all_steps.named().items():
            if step_name not in wanted:
                continue
            since = time.monotonic()
            result = try_step(step, Scene(program, store, tools))
            result.what = without_folders(result.what)
            say(f"   {step_name:10} {result.result:7} {time.monotonic() - since:4.0f} s  {result.what}")
            record["steps"][step_name] = {"result": result.result, "what": result.what, "program": program.version,
                                          **({"figures": result.figures} if result.figures else {})}
            write(name, record)
            good = good and result.result not in (FAIL, ERROR)
            if step_name == "main" and result.what.startswith(("init:", "mount:", "client")):
                for other in wanted:
                    if other not in ("main", "speed"):
                        record["steps"][other] = {"result": NONE, "what": "no vault", "program": program.version}
                write(name, record)
                break
    finally:
        stop(store)
    say(f"   {time.monotonic() - begin:.0f} s")
    return good


def stop(store: Store) -> None:
    """Takes the store down, and frees the memory of its disks for the next one."""
    try:
        store.call("stop", seconds=60)
    except Failed as failed:
        say(f"   stop: {failed}")
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for point in reversed(points):
        if point.startswith(f"{store.scratch}/"):
            subprocess.run(["umount", "-l", point], check=False)
    shutil.rmtree(store.scratch, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="stores", description=__doc__)
    parser.add_argument("--program", type=Path, help="the latchkey to use")
    parser.add_argument("--scratch", type=Path, help="an empty folder")
    parser.add_argument("--tools", type=Path, help="where fsx, pjdfstest and a repository lie")
    parser.add_argument("--steps", default="", help="only these, with commas between")
    parser.add_argument("--table", action="store_true", help="only write the tables of docs/STORES.md")
    parser.add_argument("--check-table", action="store_true", help="only say whether these tables are right")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    if given.table:
        table.write(RESULTS)
        return
    if given.check_table:
        table.check(RESULTS)
        return
    wanted = given.steps.split(",") if given.steps else list(all_steps.named())
    unknown = set(wanted) - set(all_steps.named())
    if unknown:
        sys.exit(f"stores: no such step: {', '.join(sorted(unknown))}; there are {', '.join(all_steps.named())}")
    make_network()
    (given.scratch / "passcode").touch(0o600)
    (given.scratch / "passcode").write_text("a passcode of the stores\n")
    program = Program(given.program, given.scratch / "passcode")
    say(f"latchkey {program.version}" + (", a debug build: its speed is not measured" if program.is_debug else ""))
    good = [run_store(name, program, given.scratch, given.tools, wanted) for name in given.names]
    table.write(RESULTS)
    sys.exit(0 if all(good) else 1)


main()
