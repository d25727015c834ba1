"""Answers `nvidia-smi`: scripts ask it for names and free memory, and the cards of a plan are not there to be asked.

The process that holds the cards writes down how they stand whenever it starts another one; this file, run as a program
under that name, reads it. It knows the questions that scripts ask: the list of cards, fields of cards and processes as
CSV, and the overview.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
from typing import Any

#: Where the cards stand written, in the folder of the run.
FILE = "cards.json"
_MIB = 1 << 20
#: Starts of other processes, as Python announces them.
_STARTS = ("subprocess.Popen", "os.system", "os.posix_spawn", "os.exec")
#: What a field is called, and its unit; the rest of what nvidia-smi knows is not there to be measured.
_FIELDS = {
    "index": "", "name": "", "gpu_name": "", "uuid": "", "gpu_uuid": "", "driver_version": "", "compute_cap": "",
    "count": "", "memory.total": " MiB", "memory.used": " MiB", "memory.free": " MiB", "utilization.gpu": " %",
    "utilization.memory": " %", "pid": "", "process_name": "", "used_memory": " MiB", "used_gpu_memory": " MiB",
}  # fmt: skip


class Desk:
    """Writes down how the cards stand, for whoever asks from another process."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, FILE)
        self._owner = os.getpid()

    def install(self) -> None:
        """Listens from now on."""
        sys.addaudithook(self._on_event)

    def _on_event(self, event: str, _arguments: tuple[Any, ...]) -> None:
        if event in _STARTS and os.getpid() == self._owner:
            # A disk that is full is no reason to keep a script from starting a program.
            with contextlib.suppress(OSError), open(self._path, "w", encoding="utf-8") as file:
                json.dump(cards_now(), file)


def cards_now() -> list[dict[str, Any]]:
    """How the cards stand, as NVML tells this process."""
    library = ctypes.CDLL(None)
    try:
        library.nvmlInit_v2()
    except AttributeError:
        return []
    count = ctypes.c_uint()
    library.nvmlDeviceGetCount_v2(ctypes.byref(count))
    version = ctypes.create_string_buffer(96)
    library.nvmlSystemGetDriverVersion(version, 96)
    return [{**_card(library, index), "driver_version": version.value.decode()} for index in range(count.value)]


def _card(library: ctypes.CDLL, index: int) -> dict[str, Any]:
    handle = ctypes.c_size_t()
    library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle))
    name, uuid = ctypes.create_string_buffer(96), ctypes.create_string_buffer(96)
    library.nvmlDeviceGetName(handle, name, 96)
    library.nvmlDeviceGetUUID(handle, uuid, 96)
    memory = (ctypes.c_uint64 * 3)()
    library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory))
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.nvmlDeviceGetCudaComputeCapability(handle, ctypes.byref(major), ctypes.byref(minor))
    return {
        "index": index,
        "name": name.value.decode(),
        "uuid": uuid.value.decode(),
        "compute_cap": f"{major.value}.{minor.value}",
        "total_bytes": memory[0],
        "free_bytes": memory[1],
        "used_bytes": memory[2],
        "pid": os.getpid(),
        "process_name": sys.executable,
    }


def answer(arguments: list[str], cards: list[dict[str, Any]]) -> tuple[int, str]:
    """The exit code and the text for a command line."""
    options = _options(arguments)
    wanted = options.pop("id", None) or options.pop("i", None)
    if wanted is not None:
        cards = [card for card in cards if {str(card["index"]), card["uuid"]} & set(wanted.split(","))]
        if not cards:
            return 6, "No devices were found\n"
    if "L" in options or "list-gpus" in options:
        return 0, "".join(f"GPU {card['index']}: {card['name']} (UUID: {card['uuid']})\n" for card in cards)
    for query in ("query-gpu", "query-compute-apps"):
        if query in options:
            used = cards if query == "query-gpu" else [card for card in cards if card["used_bytes"]]
            return _table(options[query].split(","), options.get("format", "csv").split(","), used, len(cards))
    if options:
        return 2, f"oomph plan does not know this question: nvidia-smi {' '.join(arguments)}\n"
    return 0, _overview(cards)


def _options(arguments: list[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    pending = list(arguments)
    while pending:
        name, is_given, value = pending.pop(0).lstrip("-").partition("=")
        if not is_given and name in ("i", "id", "query-gpu", "query-compute-apps", "format") and pending:
            value = pending.pop(0)
        options[name] = value
    return options


def _table(fields: list[str], forms: list[str], cards: list[dict[str, Any]], count: int) -> tuple[int, str]:
    fields, forms = [field.strip() for field in fields], [form.strip() for form in forms]
    lines = []
    if "noheader" not in forms:
        units = {field: f" [{_FIELDS.get(field, '').strip()}]" if _FIELDS.get(field) else "" for field in fields}
        lines.append(", ".join(field + units[field] for field in fields))
    for card in cards:
        values = []
        for field in fields:
            value = _value(field, card, count)
            has_unit = value is not None and "nounits" not in forms
            values.append("[N/A]" if value is None else value + (_FIELDS[field] if has_unit else ""))
        lines.append(", ".join(values))
    return 0, "".join(line + "\n" for line in lines)


def _value(field: str, card: dict[str, Any], count: int) -> str | None:
    """One field of one card; None if there is nothing to be measured."""
    kind, _, what = field.partition(".")
    if kind == "memory" and f"{what}_bytes" in card:
        return str(card[f"{what}_bytes"] // _MIB)
    if kind == "utilization" and field in _FIELDS:
        return "0"
    if field in ("used_memory", "used_gpu_memory"):
        return str(card["used_bytes"] // _MIB)
    if field == "count":
        return str(count)
    found = card.get(field.removeprefix("gpu_"))
    return None if found is None or field not in _FIELDS else str(found)


def _overview(cards: list[dict[str, Any]]) -> str:
    version = cards[0]["driver_version"] if cards else "N/A"
    lines = [f"| NVIDIA-SMI {version}   Driver Version: {version}   (answered by oomph plan)"]
    for card in cards:
        used, total = card["used_bytes"] // _MIB, card["total_bytes"] // _MIB
        lines.append(f"| {card['index']:>3}  {card['name']:<30} | {used:>7}MiB / {total:>7}MiB |      0%      Default |")
    return "".join(line + "\n" for line in lines)


def main() -> int:
    """Answers as a program would."""
    folder = json.loads(os.environ["OOMPH_JOB"])["folder"]
    try:
        with open(os.path.join(folder, FILE), encoding="utf-8") as file:
            cards = json.load(file)
    except FileNotFoundError:
        cards = cards_now()
    code, text = answer(sys.argv[1:], cards)
    sys.stdout.write(text)
    return code


if __name__ == "__main__":
    sys.exit(main())
