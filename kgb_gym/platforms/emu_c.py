"""emu-c, emulated: small blocks, little shared memory, few programs, and some functions missing."""

from kgb_gym.platforms import cpu
from kgb_gym.platforms.declaration import Bounds
from kgb_gym.platforms.emulation import Emulation, emulated

EMULATION = Emulation(no_libdevice=True, missing=("erf", "div_rn", "sqrt_rn"))
PLATFORM = emulated("c", cpu.PLATFORM, EMULATION, Bounds(block=4096, shared_bytes=16 << 10, programs=4096))
