"""emu-d, emulated: short addresses and no native bfloat16."""

from kgb_gym.platforms import cpu
from kgb_gym.platforms.emulation import Emulation, emulated

EMULATION = Emulation(address_bytes=1 << 20, no_bfloat16=True)
PLATFORM = emulated("d", cpu.PLATFORM, EMULATION)
