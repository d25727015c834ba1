"""Renews the lists of symbols from the libraries of one or more Python environments.

    python symbols/collect.py SITE_PACKAGES...

Each list is the union of what it already names, what the vendor's library exports and what PyTorch's libraries ask
for, so that running it on a new release only ever adds lines. Statuses that were given by hand are kept. Needs `nm`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
# list: (names that belong to it, the libraries that export them, the headers that declare them)
LISTS = {
    "cudart": (r"cuda[A-Z]\w*|__cuda[A-Z]\w*", ["libcudart.so*"], []),
    "driver": (r"cu[A-Z]\w*", [], ["cuda.h", "cudaGL.h", "cudaProfiler.h"]),
    "nvml": (r"nvml[A-Z]\w*", [], ["pynvml.py", "nvml.h"]),
    "nvtx": (r"nvtx[A-Z]\w*", ["libnvtx3interop.so*", "libnvToolsExt.so*"], []),
    "cupti": (r"cupti[A-Z]\w*", ["libcupti.so*"], []),
    "cublas": (r"cublas(?!Lt|Xt)\w+", ["libcublas.so*"], []),
    "cublaslt": (r"cublasLt[A-Z]\w*", ["libcublasLt.so*"], []),
    "cudnn": (r"cudnn[A-Z]\w*", ["libcudnn.so*"], []),
    "curand": (r"curand[A-Z]\w*", ["libcurand.so*"], []),
    "cusparse": (r"cusparse(?!Lt)[A-Z]\w*", ["libcusparse.so*"], []),
    "cusparselt": (r"cusparseLt\w+", ["libcusparseLt.so*"], []),
    "cusolver": (r"cusolver(?!Mg)[A-Z]\w*", ["libcusolver.so*"], []),
    "cufft": (r"cufft[A-Z]\w*", ["libcufft.so*"], []),
    "nccl": (r"p?nccl[A-Z]\w*", ["libnccl.so*"], []),
}
TORCH = ["torch/lib/lib*.so", "torchvision/_C*.so", "torchaudio/lib/*.so", "torchaudio/_torchaudio*.so"]
# Not functions: what a header declares beside them.
NOT_FUNCTIONS = re.compile(r"cu(da)?(rt|OccupancyB2DSize|res\w*)$|\w+_t$|nvml\w*_st$")


def dynamic_symbols(library: Path, which: str) -> set[str]:
    output = subprocess.run(["nm", "-D", which, str(library)], capture_output=True, text=True, check=False).stdout
    return {line.split()[-1].split("@")[0] for line in output.splitlines() if line.split()}


def declared(header: Path) -> set[str]:
    text = header.read_text(errors="replace")
    if header.suffix == ".py":
        return set(re.findall(r'_nvmlGetFunctionPointer\("(\w+)"\)', text))
    names = set(re.findall(r"(?:CUDAAPI|DECLDIR)\s+(\w+)\s*\(", text))
    for name, macro, target in re.findall(r"#\s*define\s+(cu\w+)\s+(__CUDA_API_PT[SD][SZ])?\(?(cu\w+)\)?\s*$", text, re.M):
        names |= {name, target}
        if macro:
            names.add(target + macro[-5:].replace("I_", "_").lower().removeprefix("i"))
    return names


def collect(name: str, folders: list[Path]) -> set[str]:
    pattern, libraries, headers = LISTS[name]
    found: set[str] = set()
    for folder in folders:
        for glob in libraries:
            for library in folder.glob(f"nvidia/*/lib/{glob}"):
                found |= dynamic_symbols(library, "--defined-only")
        for header in headers:
            for path in [*folder.glob(f"nvidia/*/include/{header}"), *folder.glob(header)]:
                found |= declared(path)
        for glob in TORCH:
            for library in folder.glob(glob):
                found |= dynamic_symbols(library, "--undefined-only")
    exact = re.compile(rf"(?:{pattern})$")
    return {symbol for symbol in found if exact.match(symbol) and not NOT_FUNCTIONS.match(symbol)}


def main() -> None:
    folders = [Path(argument) for argument in sys.argv[1:]]
    for name in LISTS:
        path = HERE / f"{name}.txt"
        old = path.read_text().splitlines() if path.exists() else [f"# {name}"]
        head = [line for line in old if line.startswith(("#", "!"))]
        entries = {line.split()[0]: line for line in old if line.strip() and not line.startswith(("#", "!"))}
        for symbol in collect(name, folders):
            entries.setdefault(symbol, symbol)
        path.write_text("\n".join([*head, *(entries[key] for key in sorted(entries))]) + "\n")
        print(f"{name}: {len(entries)}")


if __name__ == "__main__":
    main()
