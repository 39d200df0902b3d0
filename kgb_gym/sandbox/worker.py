"""The judge's process: takes jobs from the engine one after another and answers with verdicts."""

from __future__ import annotations

import gc
import os
import shutil
import socket
import tempfile
import traceback
from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.sandbox import heap
from kgb_gym.sandbox.spawner import Channel, TemplateSpawner
from kgb_gym.verdict import Stage, Status, Verdict
from kgb_gym.verification import wire
from kgb_gym.verification.judge import verify
from kgb_gym.verification.protocols import Job, Threads
from kgb_gym.verification.source import digest


def serve(sock: socket.socket, config: Mapping[str, Any]) -> None:
    """Answer jobs until the engine closes.

    Args:
        sock: connected to the engine.
        config: `root`, a folder for scratch folders; `fds`, the channels to both templates; `threads`, how many may
            compute; `device` and `visible`, see `TemplateSpawner`.
    """
    threads = Threads.of(int(config.get("threads", 1)))
    torch.set_num_threads(threads.own)
    native, interpreter = (Channel(socket.socket(fileno=fd)) for fd in config["fds"])
    while True:
        try:
            head, blobs = wire.receive(sock)
        except wire.Closed:
            return
        job = Job.from_dict({**head["job"], "source": bytes(blobs[0]).decode("latin-1")})
        root = tempfile.mkdtemp(prefix=f"job-{os.getpid()}-", dir=config["root"])
        spawner = TemplateSpawner(native, interpreter, root, config["device"], config["visible"])
        try:
            try:
                verdict = verify(job, spawner, threads=threads)
            except Exception:  # noqa: BLE001 (a failure of ours becomes a harness_error verdict)
                verdict = harness_error(job, f"the judge failed: {traceback.format_exc(limit=-6)}")
            # Nobody has to wait until the last of its processes is gone, but for the next job.
            wire.send(sock, {"verdict": verdict.to_dict(), "pid": os.getpid()})
        finally:
            spawner.settle()
            shutil.rmtree(root, ignore_errors=True)
            gc.collect()  # else what waits for the collector is spread over the heap, and the heap grows
            heap.give_back()


def harness_error(job: Job, message: str) -> Verdict:
    """The verdict for a failure of ours: unscored."""
    return Verdict(
        operator=job.operator, source_sha256=digest(job.source), suite=job.suite, platform=job.platform, kind=job.kind,
        stage=Stage.RECEIVED, status=Status.HARNESS_ERROR, message=message, seed=job.seed,
    )  # fmt: skip
