"""The commands with their arguments. What they do stands in the modules beside this one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="kgb",
    help="KernelGenBench operators as environments: verify kernels, run methods, report.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Op = Annotated[
    str, typer.Argument(metavar="OP", help="An operator: aten/softmax, or as the paper spells it, aten::softmax.")
]
File = Annotated[str, typer.Argument(metavar="FILE", help="A Python module with the kernels; - reads standard input.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Suite = Annotated[str, typer.Option(help="Case grid: auto, paper, quick, smoke or wide.")]
Place = Annotated[str, typer.Option(help="Where kernels run: auto, cpu, nvidia, … (`kgb doctor` lists them).")]
Targets = Annotated[
    list[str] | None,
    typer.Option(help="Chips to compile for: cuda:80,cuda:90,hip:gfx942, … or `portable` for five; may be repeated."),
]
Limit = Annotated[float | None, typer.Option(help="Wall seconds of one verification's correctness; 300 by default.")]
Seed = Annotated[int, typer.Option(help="Everything random derives from it.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"kgb-gym {version('kgb-gym')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    pass


@app.command("list")
def list_(
    source: Annotated[str | None, typer.Option(help="Only aten, vllm or cublas.")] = None, as_json: Json = False
) -> None:
    """List the operators."""
    from kgb_gym.cli.show import list_operators

    list_operators(source, as_json)


@app.command()
def show(
    op: Op,
    prompt: Annotated[bool, typer.Option("--prompt", help="Print what a model is told.")] = False,
    cases: Annotated[bool, typer.Option("--cases", help="Print the cases of the suite.")] = False,
    agentic: Annotated[bool, typer.Option("--agentic", help="The prompt as an agent with tools gets it.")] = False,
    suite: Suite = "auto",
    platform: Place = "auto",
    as_json: Json = False,
) -> None:
    """Show one operator."""
    from kgb_gym.cli.show import show

    show(op, suite, platform, as_json, prompt, cases, agentic)


@app.command()
def verify(
    op: Op,
    file: File,
    suite: Suite = "auto",
    platform: Place = "auto",
    only_defined: Annotated[
        bool, typer.Option("--only-defined", help="Judge only the interfaces the file defines; never a clean pass.")
    ] = False,
    seed: Seed = 0,
    time_limit: Limit = None,
    as_json: Json = False,
) -> None:
    """Judge a file of kernels against an operator."""
    from kgb_gym.cli.verify import verify

    raise typer.Exit(
        verify(
            op,
            file,
            suite=suite,
            platform=platform,
            only_defined=only_defined,
            seed=seed,
            time_limit=time_limit,
            as_json=as_json,
        )
    )


@app.command("compile")
def compile_(
    op: Op,
    file: File,
    target: Targets = None,
    suite: Annotated[str, typer.Option(help="Whose launches: smoke, quick, wide, paper or auto.")] = "smoke",
    platform: Place = "auto",
    time_limit: Annotated[float | None, typer.Option(help="Wall seconds for each target; 120 by default.")] = None,
    as_json: Json = False,
) -> None:
    """Compile the kernels that a file launches for chips that you need not have."""
    from kgb_gym.cli.verify import compile_file

    raise typer.Exit(
        compile_file(
            op,
            file,
            targets=tuple(target or ()),
            suite=suite,
            platform=platform,
            time_limit=time_limit,
            as_json=as_json,
        )
    )


@app.command()
def report(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Run folders.")],
    html: Annotated[Path | None, typer.Option(help="Write one self-contained page there.")] = None,
    plots: Annotated[Path | None, typer.Option(help="Draw the paper's figures into that folder.")] = None,
    paper_tables: Annotated[bool, typer.Option("--paper-tables", help="The paper's tables with its rows.")] = False,
    include_synthetic: Annotated[
        bool, typer.Option("--include-synthetic", help="Count scripted episodes too; they are labelled.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print metrics and tables of runs."""
    from kgb_gym.cli.report import report

    raise typer.Exit(report(folders, html, plots, paper_tables, include_synthetic, as_json))


@app.command()
def recover(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run folder.")], as_json: Json = False
) -> None:
    """Finalise what a killed run left in its folder."""
    from kgb_gym.cli.report import recover

    raise typer.Exit(recover(folder, as_json))


@app.command()
def publish(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run folder.")],
    to: Annotated[str, typer.Option(help="A new folder; or hf://user/name, on the Hugging Face Hub.")],
    as_json: Json = False,
) -> None:
    """Write a run's dataset to a folder, or to the Hugging Face Hub, for others to load."""
    from kgb_gym.cli.report import publish

    raise typer.Exit(publish(folder, to, as_json))


@app.command()
def export(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Run folders.")],
    to: Annotated[Path, typer.Option(help="A new file: one JSON object a line.")],
    kind: Annotated[
        str, typer.Option(help="sft (a row a step), sft-episodes (a row an episode), prompts, or preferences.")
    ] = "sft",
    operators: Annotated[str, typer.Option(help="Operators and globs: 'aten/*,vllm/rms_norm'.")] = "",
    methods: Annotated[str, typer.Option(help="Methods and globs: 'pass@*'.")] = "",
    min_reward: Annotated[float | None, typer.Option(help="Only steps with at least this reward.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Conversations without a clean pass too.")] = False,
    include_synthetic: Annotated[
        bool, typer.Option("--include-synthetic", help="Steps of scripted policies too.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write rows for training: conversations, prompts, or preference pairs."""
    from kgb_gym.cli.report import export
    from kgb_gym.datasets.export import Choice

    choice = Choice(_split(operators), _split(methods), min_reward, not everything, include_synthetic)
    raise typer.Exit(export(folders, to, kind, choice, as_json))


def _split(names: str) -> tuple[str, ...]:
    return tuple(n.strip() for n in names.split(",") if n.strip())


@app.command()
def doctor(
    devices: Annotated[bool, typer.Option("--devices", help="The GPUs, their clocks, and who holds a lease.")] = False,
    as_json: Json = False,
) -> None:
    """Check what this machine offers: platform, fences of the sandbox, versions."""
    from kgb_gym.cli import doctor as doctors

    raise typer.Exit(doctors.devices(as_json) if devices else doctors.doctor(as_json))


# `kgb run` has more arguments than all others together: it stands in a module of its own.
import kgb_gym.cli.run_command  # noqa: F401  # which needs what is above
