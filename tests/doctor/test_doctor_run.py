"""`lowtide doctor run` does no harm, and leaves something to read whatever happens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command import PROGRAM, run, run_json

LOOP = "import time\nfor i in range(30):\n    print(i, flush=True)\n    time.sleep(0.02)\n"


def doctor(*args: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, "doctor", *map(str, args)], capture_output=True, text=True, timeout=120, **options)  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def timeline(tmp_path: Path) -> Path:
    path = tmp_path / "run.timeline"
    done = doctor("run", "-q", "--timeline", path, "--", sys.executable, "-c", LOOP)
    assert done.returncode == 0, done.stderr
    return path


def test_output_input_and_exit_status_pass_through(tmp_path: Path) -> None:
    code = "import sys; sys.stdout.write(sys.stdin.read().upper()); sys.stderr.write('e'); sys.exit(7)"
    done = doctor("run", "-q", "--timeline", tmp_path / "t", "--", sys.executable, "-c", code, input="abc")
    assert (done.returncode, done.stdout, done.stderr) == (7, "ABC", "e")


def test_a_program_that_a_signal_ends_ends_the_doctor_the_same_way(tmp_path: Path) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"
    done = doctor("run", "-q", "--timeline", tmp_path / "t", "--", sys.executable, "-c", code)
    assert done.returncode == -signal.SIGTERM


def test_a_signal_to_the_doctor_reaches_the_program(tmp_path: Path) -> None:
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(5))\n"
        "print('ready', flush=True)\ntime.sleep(60)"
    )
    command = [PROGRAM, "doctor", "run", "-q", "--timeline", tmp_path / "t", "--", sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGUSR1)
        assert process.wait(60) == 5


def test_killing_the_doctor_leaves_the_program_running_and_a_timeline(tmp_path: Path) -> None:
    path, done_path = tmp_path / "t", tmp_path / "done"
    code = f"import time\nprint('ready', flush=True)\ntime.sleep(1.5)\nopen({str(done_path)!r}, 'w').write('x')"
    command = [PROGRAM, "doctor", "run", "-q", "--timeline", path, "--", sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while path.read_text().count("\n") < 4:
            time.sleep(0.05)
        process.kill()
        process.wait()
        deadline = time.monotonic() + 60
        while not done_path.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
    assert done_path.exists()
    assert run_json("doctor", "explain", path)["schema"] == 1


def test_killing_the_program_leaves_a_readable_timeline(tmp_path: Path) -> None:
    path = tmp_path / "t"
    grow = "for _ in range(20): x.append(bytearray(1 << 20)); time.sleep(0.03)"
    code = f"import os, time\nx = []\n{grow}\nos.kill(os.getpid(), 9)"
    done = doctor("run", "--timeline", path, "--", sys.executable, "-c", code)
    assert done.returncode == -signal.SIGKILL
    assert "Growth from" in done.stderr
    assert run_json("doctor", "explain", path)["timeline"]["exit"] == 137


@pytest.mark.parametrize(
    "code",
    [
        "import os; os.closerange(3, 256); print('fine')",
        "import os; os.environ.clear(); os.execv('/bin/echo', ['echo', 'fine'])",
        "import threading, os, time\nt = threading.Thread(target=time.sleep, args=(0.2,)); t.start()\n"
        "pid = os.fork()\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0); t.join(); print('fine')",
        # A tuple that is being filled must have one owner: a census that held it would break the program.
        "import time\nend = time.monotonic() + 2\n"
        "while time.monotonic() < end: x = tuple(tuple(i + j for j in range(50)) for i in range(200))\nprint('fine')",
        "import subprocess, sys\nfor _ in range(40): subprocess.run(['/bin/true'])\nprint('fine')",
    ],
    ids=["closes all files", "clears its environment", "forks from threads", "fills tuples", "many processes"],
)
def test_odd_programs_still_run(code: str, tmp_path: Path) -> None:
    done = doctor("run", "-q", "--timeline", tmp_path / "t", "--", sys.executable, "-c", code)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


def test_the_users_own_sitecustomize_still_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import builtins; builtins.mine = 'yes'\n")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    code = "import sys; print(mine, sys.modules['sitecustomize'].__file__)"
    done = doctor("run", "-q", "--timeline", tmp_path / "t", "--", sys.executable, "-c", code, env=environment)
    assert done.stdout.split() == ["yes", str(tmp_path / "sitecustomize.py")]


def test_steps_are_found_in_the_output(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = doctor(
        "run",
        "-q",
        "--json",
        report,
        "--steps",
        r"^\d+$",
        "--timeline",
        tmp_path / "t",
        "--",
        sys.executable,
        "-c",
        LOOP,
    )
    assert done.stdout.split() == [str(i) for i in range(30)]
    assert json.loads(report.read_text())["timeline"]["steps"] == 30


def test_a_native_program_that_leaks_is_told_with_its_function(tmp_path: Path) -> None:
    source = tmp_path / "leak.cpp"
    source.write_text(
        "#include <cstdlib>\n#include <cstring>\n#include <unistd.h>\n"
        'extern "C" __attribute__((noinline)) void forget(int n) { void* volatile p = malloc(n); memset(p, 1, n); }\n'
        "int main() { for (int i = 0; i < 300; ++i) { for (int j = 0; j < 4; ++j) forget(60000); usleep(10000); } }\n"
    )
    subprocess.run(["g++", "-O1", "-rdynamic", source, "-o", tmp_path / "leak"], check=True)
    report = tmp_path / "report.json"
    doctor("run", "-q", "--json", report, "--timeline", tmp_path / "t", "--", tmp_path / "leak")
    verdict = json.loads(report.read_text())["verdict"]
    assert (verdict["kind"], verdict["leak"]) == ("native", True), verdict
    assert "forget" in verdict["where"]


# What can be typed wrongly, and what can be wrong with a file


def test_json_is_as_promised_and_the_table_adds_up(timeline: Path) -> None:
    report = run_json("doctor", "explain", timeline)
    assert set(report) == {"schema", "verdict", "timeline", "machine"}
    verdict = report["verdict"]
    promised = {"leak", "kind", "bytes", "parts", "per_step_bytes", "where", "evidence", "fix", "confidence"}
    assert promised <= set(verdict)
    assert sum(verdict["parts"].values()) == verdict["bytes"]


def test_a_page_holds_all_it_shows(timeline: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert run("doctor", "explain", timeline, "--html", page).returncode == 0
    text = page.read_text()
    assert "<svg" in text
    assert "http" not in text.replace("http-equiv", "")


@pytest.mark.parametrize("content", ["", "foreign", '{"lowtide_timeline": 99}\n', "\x00\x01\x02"])
def test_a_foreign_timeline_is_one_line(content: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.timeline"
    path.write_text(content)
    for verb in (["explain", path], ["diff", path, path]):
        done = run("doctor", *verb)
        assert done.returncode == 1
        assert "bad.timeline" in done.stderr.splitlines()[0]


def test_a_truncated_timeline_gives_what_is_still_knowable(timeline: Path) -> None:
    data = timeline.read_bytes()
    timeline.write_bytes(data[: len(data) * 2 // 3])
    assert run_json("doctor", "explain", timeline)["verdict"]["leak"] is False


def test_machines_are_compared(tmp_path: Path) -> None:
    good = run_json("doctor", "machine")
    bad = json.loads(json.dumps(good))
    bad["machine"]["memory.thp"] = "something else"
    for name, facts in (("good", good), ("bad", bad)):
        (tmp_path / name).write_text(json.dumps(facts))
    differences = run_json("doctor", "compare", tmp_path / "good", tmp_path / "bad")["differences"]
    assert [d["key"] for d in differences] == ["memory.thp"]
    assert "huge pages" in differences[0]["why"]
    assert run_json("doctor", "compare", tmp_path / "good", tmp_path / "good")["differences"] == []


@pytest.mark.parametrize("content", ["", "[]", '{"machine": {}}', '{"schema": 2, "machine": {}}'])
def test_a_foreign_machine_file_is_one_line(content: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content)
    done = run("doctor", "compare", path, path)
    assert done.returncode == 1
    assert "bad.json" in done.stderr.splitlines()[0]


def test_a_process_that_is_gone_is_one_line() -> None:
    done = run("doctor", "attach", "4194303")
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["lowtide: there is no process 4194303"]


def test_a_program_that_cannot_start_is_wrong_use(tmp_path: Path) -> None:
    done = run("doctor", "run", "--timeline", tmp_path / "t", "--", "no-such-program")
    assert done.returncode == 2
    assert "cannot start no-such-program: No such file or directory" in done.stderr


def test_attach_watches_from_outside_and_leaves_the_program_running(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        verdict = run_json("doctor", "attach", str(process.pid), "--seconds", "1")["verdict"]
        assert process.poll() is None
        process.kill()
    assert verdict["leak"] is False
    assert any("nothing inside the program" in line for line in verdict["not_seen"])


def test_top_shows_the_tree_once_where_nobody_looks() -> None:
    done = run("doctor", "top", str(os.getpid()))
    assert done.returncode == 0
    assert str(os.getpid()) in done.stdout
