"""emu-b, emulated: a strict type system, and a pass pipeline that fails on some operations."""

from kgb_gym.platforms import cpu
from kgb_gym.platforms.emulation import Emulation, emulated

EMULATION = Emulation(strict_store=True, same_int_loops=True, failing=("maxnum of blocks", "reduce of several values"))
PLATFORM = emulated("b", cpu.PLATFORM, EMULATION)
