"""Types unfinished commands into a real shell at a terminal, presses Tab, and reports what came of it.

usage: drive.py SHELL SCRIPT FOLDER, with a JSON list of cases on standard input. A case is {"type": TEXT} and what the
shell then has as arguments when the line is entered, or {"list": TEXT} and everything that it shows after two tabs.
SHELL is bash, bash-completion, zsh or fish; SCRIPT is the file with latchkey's completion; FOLDER has the program's
folder first in PATH. Prints a JSON list of answers.
"""

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import sys
import tempfile
import termios
import time

LIMIT = 20
# What moves the cursor or colours the text.
SEQUENCES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()=>][0-9A-B]?|\r")
# In place of the program: shows the arguments, but lets the completion ask the real one.
BOURNE = r"""
latchkey() {
    if [ "$1" = ---complete ]; then command latchkey "$@"; else printf '<<'; printf '<%s>' "$@"; printf '>>\n'; fi
}
"""
FISH = r"""
function latchkey
    if test "$argv[1]" = ---complete
        command latchkey $argv
    else
        printf '<<'; printf '<%s>' $argv; printf '>>\n'
    end
end
function fish_prompt; printf 'READY> '; end
function fish_right_prompt; end
function fish_greeting; end
"""


def prepared(shell: str, script: str, home: str) -> list[str]:
    """Writes the shell's start files; returns its command."""
    if shell == "fish":
        start = os.path.join(home, "start.fish")
        with open(start, "w", encoding="utf-8") as file:
            file.write(f"source {script}\n{FISH}")
        return ["fish", "--no-config", "-i", "-C", f"source {start}"]
    if shell == "zsh":
        functions = os.path.join(home, "functions")
        os.mkdir(functions)
        shutil.copy(script, os.path.join(functions, "_latchkey"))
        with open(os.path.join(home, ".zshrc"), "w", encoding="utf-8") as file:
            file.write(f"fpath=({functions} $fpath)\nautoload -U compinit\ncompinit -u -D\n{BOURNE}\nPS1='READY> '\n")
            file.write("unsetopt prompt_cr prompt_sp zle_bracketed_paste 2>/dev/null\nunset zle_bracketed_paste\n")
        return ["zsh", "-d", "-i"]
    start = os.path.join(home, "start.bash")
    with open(start, "w", encoding="utf-8") as file:
        if shell == "bash-completion":
            # As a package installs it: loaded at the first use.
            folder = os.path.join(home, "user", "completions")
            os.makedirs(folder)
            shutil.copy(script, os.path.join(folder, "latchkey"))
            file.write(f"BASH_COMPLETION_USER_DIR={home}/user\n. /usr/share/bash-completion/bash_completion\n")
        else:
            file.write(f". {script}\n")
        file.write(f"{BOURNE}\nPS1='READY> '\nbind 'set bell-style none'\nbind 'set enable-bracketed-paste off'\n")
    return ["bash", "--noprofile", "--rcfile", start, "-i"]


class Shell:
    def __init__(self, command: list[str], home: str) -> None:
        kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        environment = {**kept, "HOME": home, "ZDOTDIR": home, "TERM": "xterm", "LC_ALL": "C.UTF-8",
                       "INPUTRC": "/dev/null"}
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(home)
            os.execvpe(command[0], command, environment)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 250, 0, 0))
        self.number = 0
        self.heard = b""

    def until(self, mark: str) -> str:
        """What the shell writes up to a mark, and the mark; the rest waits for the next call."""
        end = time.monotonic() + LIMIT
        while mark.encode() not in self.heard:
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise SystemExit(f"no {mark!r} within {LIMIT} s after: {self.heard[-2000:]!r}")
            try:
                self.heard += os.read(self.terminal, 65536)
            except OSError:
                raise SystemExit(f"the shell has ended after: {self.heard[-2000:]!r}") from None
        before, found, self.heard = self.heard.partition(mark.encode())
        return SEQUENCES.sub("", (before + found).decode("utf-8", "replace"))

    def send(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def marked(self, text: str) -> str:
        """Types, then has the shell write a mark that the typed line itself does not contain."""
        self.number += 1
        self.send(text + f"echo MA''RK{self.number}.\n")
        seen = self.until(f"MARK{self.number}.")
        # Before its prompt the shell is not yet the one who reads, and the terminal would take Ctrl-U for itself.
        self.until("READY> ")
        return seen

    def arguments(self, text: str) -> list[str] | str:
        seen = self.marked(text + "\t\n")
        found = re.findall(r"<<(<.*>)>>", seen)
        return found[-1][1:-1].split("><") if found else seen

    def listing(self, text: str) -> str:
        # Ctrl-U empties the line, whatever became of it.
        return self.marked(text + "\t\t\x15")

    def end(self) -> None:
        os.kill(self.pid, signal.SIGHUP)
        os.close(self.terminal)
        end = time.monotonic() + 5
        while os.waitpid(self.pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                return
            time.sleep(0.01)


def main() -> None:
    shell, script, folder = sys.argv[1:]
    os.environ["PATH"] = folder + ":" + os.environ["PATH"]
    cases = json.load(sys.stdin)
    home = tempfile.mkdtemp(prefix="latchkey-shell-")
    try:
        started = Shell(prepared(shell, script, home), home)
        try:
            started.until("READY> ")
            print(json.dumps([
                started.arguments(case["type"]) if "type" in case else started.listing(case["list"]) for case in cases
            ]))
        finally:
            started.end()
    finally:
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
