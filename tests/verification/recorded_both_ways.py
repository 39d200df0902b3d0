"""Records the gold kernels named on the command line twice on `smoke`: on plain memory, and on memory that passes for the
device's. Prints the cases whose records differ, and how many there were. A process of its own: it holds launches back.
"""

import sys
import tempfile
from pathlib import Path

import torch

from kgb_gym.operators import Maker, get, gold_source
from kgb_gym.verification.launching import Held
from kgb_gym.verification.memory import DeviceMemory, HostBacked
from kgb_gym.verification.mount import Mount
from kgb_gym.verification.recorder import Kept, _load, _record
from kgb_gym.verification.recording import Recording
from kgb_gym.verification.subject import readable
from kgb_gym.verification.tensors import pack


def answers(held, name, memory):
    """What a recorder with that memory would answer, by case."""
    operator, text = get(name), gold_source(name)
    Path(held.filename).write_text(text)
    with memory.importing():
        module = _load(text, held.filename)
    held.mount = Mount(operator.source, "CPU", {i.name: getattr(module, i.function) for i in operator.interfaces})
    found = {}
    for case in operator.cases("smoke"):
        interface = operator.interface(case.interface)
        call = interface.call(Maker(7, tiled=True), case.params)
        packed, blobs = pack(call)
        blobs = [bytearray(b) for b in blobs]
        again = {"interface": case.interface, "call": packed, "readable": readable(operator, interface, call)}
        kept, told = Kept(), []
        for question in ({**again, "keep": True}, {**again, "again": True}):
            memory.tidy()
            recording = Recording(operator.policy, memory, held.filename, operator.data_dependent)
            told.append(_record(question, blobs, held, held.mount, recording, kept))
        found[case.id] = told
    return found


def main():
    torch.set_num_threads(1)
    held = Held(str(Path(tempfile.mkdtemp()) / "submission.py"))
    held.install()
    cases = 0
    for name in sys.argv[1:]:
        plain = answers(held, name, DeviceMemory("cpu"))
        backed = answers(held, name, HostBacked("cpu", read=get(name).data_dependent))
        cases += len(plain)
        for case, told in plain.items():
            if told != backed[case]:
                print("differs:", case, told, backed[case])
    print(cases, "cases")


if __name__ == "__main__":
    main()
