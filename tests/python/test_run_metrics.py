"""`oomph run --metrics`: a real Prometheus scrapes a running job."""

import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from running import start

#: A job that trains until it is told to stop.
TRAINING = """
import sys, time, torch
model = torch.nn.Linear(512, 512).cuda()
optimizer = torch.optim.AdamW(model.parameters())
print("started", flush=True)
while True:
    optimizer.zero_grad()
    model(torch.randn(64, 512, device="cuda")).square().mean().backward()
    optimizer.step()
    time.sleep(0.02)
"""
WEIGHTS_BYTES = 4 * (512 * 512 + 512)
PATIENCE_SECONDS = 60


@pytest.fixture
def job(oomph, script, tmp_path):
    """A job that serves metrics, and where."""
    with open(tmp_path / "stderr", "w+") as said:
        process = start(oomph, tmp_path, script(TRAINING), options=["--metrics", "0"], stdout=subprocess.PIPE, stderr=said)
        try:
            assert process.stdout.readline() == "started\n", (tmp_path / "stderr").read_text()
            address = re.search(r"http://(127\.0\.0\.1:\d+)/metrics", (tmp_path / "stderr").read_text())
            yield address.group(1)
        finally:
            process.terminate()
            process.wait(timeout=60)


def eventually(ask):
    """The first answer that is not None."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        answer = ask()
        if answer is not None:
            return answer
        time.sleep(0.2)
    raise AssertionError("no answer in time")


def page(address):
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as answer:
        return answer.read().decode()


def figure(text, name):
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return float(found.group(1)) if found else None


def test_the_job_is_seen_from_outside(job):
    def trained():
        text = page(job)
        return text if (figure(text, "oomph_steps_total") or 0) > 5 else None

    text = eventually(trained)
    assert figure(text, 'oomph_live_bytes{device="0",category="parameters"}') == WEIGHTS_BYTES
    assert figure(text, 'oomph_live_bytes{device="0",category="optimizer"}') >= 2 * WEIGHTS_BYTES
    allocated, reserved = (figure(text, f'oomph_{name}_bytes{{device="0"}}') for name in ("allocated", "reserved"))
    assert 0 < allocated <= reserved
    assert figure(text, "oomph_host_resident_bytes") > 100 << 20
    assert figure(text, "oomph_processes") == 1
    labels = set(re.findall(r'[{,](\w+)="', text))
    assert labels <= {"device", "category", "version", "job"}, "no label for every line or process"


@pytest.mark.skipif(not shutil.which("prometheus"), reason="Prometheus is not installed")
def test_prometheus_scrapes_it(job, tmp_path):
    config = tmp_path / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
        f"scrape_configs: [{{job_name: oomph, static_configs: [{{targets: ['{job}']}}]}}]\n"
    )
    subprocess.run(["promtool", "check", "config", config], check=True, capture_output=True)
    port = free_port()
    with open(tmp_path / "prometheus.log", "w") as log:
        server = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'data'}", f"--web.listen-address=127.0.0.1:{port}"],
            stdout=log,
            stderr=log,
        )
    try:
        ask = lambda expression: eventually(lambda: query(port, expression))  # noqa: E731
        steps = float(ask("oomph_steps_total"))
        assert eventually(lambda: float(query(port, "oomph_steps_total") or 0) > steps or None), "it goes on counting"
        assert float(ask('sum(oomph_live_bytes{category="parameters"})')) == WEIGHTS_BYTES
        assert float(ask("max(up)")) == 1, "what is served is understood"
        assert float(ask("oomph_reserved_bytes")) >= float(ask("oomph_allocated_bytes")) > 0
    finally:
        server.terminate()
        server.wait(timeout=30)


def free_port():
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def query(port, expression):
    """The value of an expression; None as long as there is none."""
    words = urllib.parse.urlencode({"query": expression})
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{words}", timeout=5) as answer:
            result = json.load(answer)["data"]["result"]
    except (urllib.error.URLError, ConnectionError):
        return None
    return result[0]["value"][1] if result else None
