"""emu-a, emulated: a slow compiler without CUDA's function library, strict about what is stored."""

from kgb_gym.platforms import cpu
from kgb_gym.platforms.emulation import Emulation, emulated

EMULATION = Emulation(no_libdevice=True, strict_store=True, seconds_per_operation=0.1, compile_limit_s=60.0)
PLATFORM = emulated("a", cpu.PLATFORM, EMULATION)
