"""`nvidia-smi` inside a plan: scripts and libraries that ask it for free memory get the hollow card's."""

ASKING = """
    import os, shutil, subprocess, torch
    def ask(*words):
        return subprocess.run(["nvidia-smi", *words], capture_output=True, text=True)
    kept = torch.zeros(1 << 30, dtype=torch.uint8, device="cuda")
    free, total = torch.cuda.mem_get_info()
    out = ask("--query-gpu=memory.used,memory.total", "--format=csv,nounits,noheader").stdout
    used_mib, total_mib = (int(word) for word in out.split(","))
    assert used_mib == (total - free) >> 20 and used_mib >= 1024 and total_mib == total >> 20, out
    out = ask("--query-gpu=index,name,memory.free,temperature.gpu", "--format=csv", "-i", "0").stdout
    header, line = out.splitlines()
    assert header == "index, name, memory.free [MiB], temperature.gpu", header
    assert line == f"0, {torch.cuda.get_device_name()}, {free >> 20} MiB, [N/A]", line
    assert ask("-L").stdout.startswith("GPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-"), ask("-L").stdout
    out = ask("--query-compute-apps=pid,used_memory", "--format=csv,noheader").stdout
    assert out == f"{os.getpid()}, {used_mib} MiB\\n", out
    del kept
    torch.cuda.empty_cache()
    assert f"{used_mib - 1024}MiB /" in os.popen("nvidia-smi").read()
    assert ask("-i", "7").returncode == 6
    assert ask("topo", "-m").returncode == 2
"""


def test_a_script_that_asks_nvidia_smi_gets_the_hollow_card(planned, script):
    plan = planned("--gpu", "rtx_4090", script(ASKING))
    assert plan["outcome"] == "ok"
