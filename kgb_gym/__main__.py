"""`python -m kgb_gym` is the `kgb` command."""

from kgb_gym.cli import main

main()
