"""The program that the wheel carries, as a function of its arguments."""

import os
import signal
import subprocess
import warnings
from importlib import metadata

# Seconds in which the program may end after Ctrl-C, which a terminal sends to it as well.
_GRACE_S = 2


class WarpweaveError(Exception):
    """The program refused its input, or a run failed.

    ``str(error)`` is the program's own text, ``code`` its exit code: 1 for a run that failed or
    computed wrong results, 2 for bad input, 3 for an error of the host. ``output`` is what it
    printed nevertheless, such as the report of a run that reached a limit.
    """

    def __init__(self, text: str, code: int, output: str = "") -> None:
        super().__init__(text)
        self.code = code
        self.output = output


def program() -> str:
    """Return the path of the program.

    The environment variable ``WARPWEAVE_PROGRAM`` names another one, such as a program with
    components of your own.
    """
    other = os.environ.get("WARPWEAVE_PROGRAM")
    if other:
        return other
    for file in metadata.files("warpweave") or []:
        if file.stem == "warpweave" and file.suffix in ("", ".exe"):
            return os.path.realpath(file.locate())
    raise FileNotFoundError("the installed package holds no program: install its wheel")


def call(*arguments: str | os.PathLike[str]) -> str:
    """Run any command of the program and return its standard output.

    Remarks of the program become Python warnings. Raises ``WarpweaveError`` if the command fails
    and ``KeyboardInterrupt`` once an interrupted command has ended.
    """
    command = [program(), *(os.fspath(argument) for argument in arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as process:
        try:
            output, remarks = process.communicate()
        except KeyboardInterrupt:
            _interrupt(process)
            raise
    if process.returncode in (130, -signal.SIGINT):
        raise KeyboardInterrupt
    if process.returncode != 0:
        raise WarpweaveError(remarks.strip(), process.returncode, output)
    if remarks.strip():
        warnings.warn(remarks.strip(), stacklevel=3)
    return output


def _interrupt(process: subprocess.Popen[str]) -> None:
    """Wait for an interrupted program, and interrupt it if nothing else has."""
    try:
        process.communicate(timeout=_GRACE_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        process.communicate()


def options(named: dict[str, object]) -> list[str]:
    """Return keyword arguments as options: ``threads=4`` is ``--threads 4``.

    ``True`` is an option without a value, ``False`` and ``None`` are left out, and a list repeats
    its option.
    """
    words: list[str] = []
    for name, value in named.items():
        option = "--" + name.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(option)
            elif one is not None and one is not False:
                words.append(f"{option}={one}")
    return words
