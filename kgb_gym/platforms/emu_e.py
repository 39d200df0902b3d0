"""emu-e, emulated: an immature runtime that takes dense tensors only, and a compiler that fails and hangs."""

from kgb_gym.platforms import cpu
from kgb_gym.platforms.emulation import Emulation, emulated

EMULATION = Emulation(
    no_libdevice=True, missing=("erf", "rsqrt"), failing=("scan", "atomic"), dense_only=True, hang_share=0.03
)
PLATFORM = emulated("e", cpu.PLATFORM, EMULATION)
