"""What a confined process can do: its work, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import kgb_gym
from kgb_gym.operators import catalog
from kgb_gym.sandbox import doctor, landlock

GOLD = str(Path(catalog.__file__).resolve().parent / "aten" / "gold" / "cos.py")
PACKAGE = str(Path(kgb_gym.__file__).resolve())

pytestmark = pytest.mark.skipif(landlock.abi() == 0, reason="the kernel has no Landlock")


def confined(scratch, code, *, role="recorder", memory=256 << 20, env=None):
    """What `code` prints in a process inside the fences of a role; `tried(f)` prints the error's name or `done`."""
    program = textwrap.dedent("""
        import ctypes, os, resource, signal, socket, sys, time
        from kgb_gym.sandbox import fences

        def tried(action):
            try:
                action()
            except BaseException as error:
                print(type(error).__name__)
            else:
                print("done")

        scratch, outside, gold, package = sys.argv[1:5]
        fences.enter(ROLE, device="cpu", scratch=scratch, memory_bytes=MEMORY, cpu_s=20)
    """).replace("ROLE", repr(role)).replace("MEMORY", str(memory))  # fmt: skip
    outside = scratch.parent / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "secret").write_text("secret")
    done = subprocess.run(
        [sys.executable, "-c", program + textwrap.dedent(code), scratch, outside, GOLD, PACKAGE],
        check=False, capture_output=True, text=True, timeout=60, env={**os.environ, **(env or {})},
    )  # fmt: skip
    return done.stdout.split("\n")[:-1], done


@pytest.fixture
def scratch(tmp_path):
    path = tmp_path / "scratch"
    path.mkdir()
    return path


def test_it_works_in_its_own_folder(scratch):
    told, _ = confined(scratch, """
        tried(lambda: open(f"{scratch}/x", "w").write("x"))
        tried(lambda: open(f"{scratch}/x").read())
        tried(lambda: os.mkdir(f"{scratch}/folder"))
        tried(lambda: __import__("statistics"))
        tried(lambda: open("/dev/null", "w").write("x"))
        tried(lambda: open("/proc/self/statm").read())
        tried(lambda: os.listdir("/proc/self/fd"))
        tried(lambda: open("/proc/cpuinfo").read())
        print(os.getcwd() == scratch)
    """)  # fmt: skip
    assert told == ["done"] * 8 + ["True"]


FILES = {
    "write elsewhere": 'open(f"{outside}/x", "w")',
    "append elsewhere": 'open(f"{outside}/secret", "a")',
    "truncate elsewhere": 'os.truncate(f"{outside}/secret", 0)',
    "remove elsewhere": 'os.remove(f"{outside}/secret")',
    "make a folder": 'os.mkdir(f"{outside}/folder")',
    "link into its own": 'os.link(f"{outside}/secret", f"{scratch}/secret")',
    "move out": '[open(f"{scratch}/y", "w").close(), os.rename(f"{scratch}/y", f"{outside}/y")]',
    "write to /tmp": 'open("/tmp/kgb-fence-test", "w")',
    "write to /dev/shm": 'open("/dev/shm/kgb-fence-test", "w")',
    "read elsewhere": 'open(f"{outside}/secret").read()',
    "read through a link": '[os.symlink(f"{outside}/secret", f"{scratch}/l"), open(f"{scratch}/l").read()]',
    "list elsewhere": "os.listdir(outside)",
    "read a gold kernel": "open(gold).read()",
    "read this package": "open(package).read()",
    "read passwords": 'open("/etc/passwd").read()',
    "read the parent's environment": 'open(f"/proc/{os.getppid()}/environ").read()',
    "read the parent's memory": 'open(f"/proc/{os.getppid()}/mem", "rb").read(1)',
}


def test_files_elsewhere_are_out_of_reach(scratch):
    told, done = confined(scratch, "\n".join(f"tried(lambda: {action})" for action in FILES.values()))
    assert len(told) == len(FILES), done.stderr
    assert [name for name, word in zip(FILES, told, strict=True) if word == "done"] == []
    assert (scratch.parent / "outside" / "secret").read_text() == "secret"
    assert not Path("/tmp/kgb-fence-test").exists() and not Path("/dev/shm/kgb-fence-test").exists()


CALLS = {
    "socket": "socket.socket()",
    "unix socket": "socket.socket(socket.AF_UNIX)",
    "socket pair": "socket.socketpair()",
    "fork": "os.fork()",
    "exec": 'os.execv("/bin/true", ["true"])',
    "spawn": '__import__("subprocess").run(["/bin/true"])',
    "posix_spawn": 'os.posix_spawn("/bin/true", ["true"], {})',
    "more memory": "bytearray(1 << 30)",
    "more files": '[open("/dev/null") for _ in range(300)]',
    "a large file": '[open(f"{scratch}/large", "wb").write(bytes(1 << 20)) for _ in [signal.signal(signal.SIGXFSZ, signal.SIG_IGN)]]'
    ' + [os.truncate(f"{scratch}/large", 1 << 30)]',
    "higher limits": "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
    "a signal to the parent": "os.kill(os.getppid(), 0)",
    "a signal to all": "os.kill(-1, 0)",
    "another's limits": "resource.prlimit(os.getppid(), resource.RLIMIT_CORE)",
    "another's processors": "os.sched_setaffinity(os.getppid(), os.sched_getaffinity(0))",
    "another's priority": "os.setpriority(os.PRIO_PROCESS, os.getppid(), 0)",
    "modes elsewhere": "os.chmod(outside, 0o700)",
    "times elsewhere": "os.utime(outside)",
    "owners elsewhere": "os.chown(outside, os.getuid(), os.getgid())",
    "attributes elsewhere": 'os.setxattr(f"{outside}/secret", b"user.x", b"1")',
}


def test_system_calls_that_no_kernel_needs_fail(scratch):
    told, done = confined(scratch, "\n".join(f"tried(lambda: {action})" for action in CALLS.values()))
    assert len(told) == len(CALLS), (told, done.stderr)
    assert [name for name, word in zip(CALLS, told, strict=True) if word == "done"] == []


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of x86-64")
@pytest.mark.parametrize("number", [101, 310, 311, 321, 323, 425, 272, 165, 438], ids=str)
def test_numbers_of_system_calls(scratch, number):
    told, _ = confined(scratch, f"""
        libc = ctypes.CDLL(None, use_errno=True)
        print(libc.syscall({number}, 0, 0, 0, 0, 0), ctypes.get_errno())
    """)  # fmt: skip
    assert told == ["-1 1"]


@pytest.mark.parametrize("role", ["recorder", "script"])
def test_what_a_process_does_to_itself_still_works(scratch, role):
    told, done = confined(scratch, """
        tried(lambda: os.kill(os.getpid(), 0))
        tried(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
        tried(lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)))
        signal.signal(signal.SIGUSR1, lambda *_: print("heard"))
        tried(lambda: signal.raise_signal(signal.SIGUSR1))
    """, role=role)  # fmt: skip
    assert told == ["done", "done", "done", "heard", "done"], done.stderr


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the second interface of x86-64")
def test_the_x32_numbers_of_system_calls_fail(scratch):
    told, _ = confined(scratch, """
        libc = ctypes.CDLL(None, use_errno=True)
        print(libc.syscall(0x40000000 + 41, 2, 1, 0), ctypes.get_errno())
    """)  # fmt: skip
    assert told == ["-1 1"]


def test_threads_still_work(scratch):
    told, _ = confined(scratch, """
        import threading
        thread = threading.Thread(target=print, args=("in a thread",))
        thread.start()
        thread.join()
    """)  # fmt: skip
    assert told == ["in a thread"]


def test_the_environment_is_scrubbed(scratch):
    told, _ = confined(scratch, "print(*sorted(os.environ), sep='\\n')", env={"KGB_SECRET": "x", "HF_TOKEN": "x"})
    assert "KGB_SECRET" not in told and "HF_TOKEN" not in told
    assert {"HOME", "TMPDIR", "TRITON_CACHE_DIR"} <= set(told)


def test_a_compiler_may_start_assemblers_only(scratch):
    told, done = confined(scratch, """
        import subprocess
        from pathlib import Path
        import triton
        ptxas = next(iter((Path(triton.__file__).parent / "backends" / "nvidia" / "bin").glob("ptxas*")))
        tried(lambda: subprocess.run([ptxas, "--version"], capture_output=True, check=True))
        tried(lambda: subprocess.run(["/bin/true"], check=True))
        tried(lambda: subprocess.run([sys.executable, "-c", ""], check=True))
        tried(lambda: socket.socket())
    """, role="compiler", memory=2 << 30)  # fmt: skip
    assert told[:1] == ["done"], done.stderr
    assert "done" not in told[1:]


def test_doctor_says_which_fences_hold():
    fences = doctor()
    assert len({f.name for f in fences}) == len(fences)
    assert {"landlock", "seccomp", "memory limit"} <= {f.name for f in fences}
    assert all(f.holds for f in fences), [f for f in fences if not f.holds]
    assert all(f.detail for f in fences)
