"""Prints constraints.txt: every distribution of the environment that runs it, pinned.

Local versions (`2.13.0+cpu`) lose their suffix, so that the pin fits the CPU and the CUDA build alike.
"""

from importlib.metadata import distributions

LEFT_OUT = {"kgb-gym", "pip"}


def main() -> None:
    pins = {d.name: d.version.partition("+")[0] for d in distributions() if d.name.lower() not in LEFT_OUT}
    print("# What CI installs, exactly. Renewed by `make constraints`, from an environment that passed `make test`.")
    for name in sorted(pins, key=str.lower):
        print(f"{name}=={pins[name]}")


if __name__ == "__main__":
    main()
