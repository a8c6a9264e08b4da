"""Processes by more than their number: a number is given away again, its start time is not."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Process:
    """A noted process. It leads a process group of its own, which contains its children."""

    pid: int
    started: str

    @classmethod
    def noted(cls, pid: int) -> "Process":
        return cls(pid=pid, started=_started(pid) or "")

    def is_alive(self) -> bool:
        return bool(self.started) and _started(self.pid) == self.started

    def group(self, *, marked: str) -> list[int]:
        """The processes of its group whose command line names `marked`."""
        return _group(self.pid, marked)

    def end(self, *, marked: str, patience_seconds: float = 5.0) -> None:
        """Asks it to stop, then ends it; and ends what it left of its group, as far as it carries `marked`."""
        if self.is_alive():
            os.kill(self.pid, signal.SIGTERM)
            deadline = time.monotonic() + patience_seconds
            while self.is_alive() and time.monotonic() < deadline:
                time.sleep(0.02)
            if self.is_alive():
                os.kill(self.pid, signal.SIGKILL)
        for pid in _group(self.pid, marked):
            _kill(pid)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _started(pid: int) -> str | None:
    """The start of a process as the system tells it, which tells two processes of one id apart. None if no process has
    this id, or if it ended and its parent has not collected it."""
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            after_name = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if after_name[0] == "Z" else after_name[19]
    answer = _ps("-o", "stat=,lstart=", "-p", str(pid))
    state, _, started = answer.partition(" ")
    return started.strip() if state and not state.startswith("Z") else None


def _group(leader: int, marked: str) -> list[int]:
    """The processes of that group whose command line names `marked`."""
    if Path("/proc/self/stat").exists():
        commands = {pid: _command(pid) for pid in _members(leader)}
    else:
        lines = [line.split(None, 2) for line in _ps("-A", "-o", "pid=,pgid=,command=").splitlines()]
        commands = {int(pid): command for pid, group, command in lines if int(group) == leader}
    return [pid for pid, command in commands.items() if marked in command]


def _members(leader: int) -> list[int]:
    members = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                group = os.getpgid(int(folder.name))
            except (ProcessLookupError, PermissionError):
                continue
            if group == leader:
                members.append(int(folder.name))
    return members


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _ps(*arguments: str) -> str:
    return subprocess.run(["/bin/ps", *arguments], capture_output=True, text=True, check=False).stdout.strip()
