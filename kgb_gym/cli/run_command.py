"""`kgb run` with its arguments. What it does stands in `run.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kgb_gym.cli.app import Json, Limit, Place, Seed, Suite, Targets, app

_MODEL, _METHOD, _AGENT, _LIMITS = "The model", "The method", "Agents", "What it may use"


def _option(help: str, panel: str, *names: str) -> typer.models.OptionInfo:
    made: typer.models.OptionInfo = typer.Option(*names, help=help, rich_help_panel=panel)
    return made


@app.command()
def run(
    out: Annotated[Path, typer.Option(help="The run's folder; the same call again goes on with it.")],
    method: Annotated[
        str, typer.Option(help="pass@k, reflection, tool-agent, claude-code, …; docs/methods.md describes all.")
    ],
    operators: Annotated[str, typer.Option(help="Operators and globs: 'aten/*,vllm/rms_norm'.")] = "*",
    suite: Suite = "auto",
    platform: Place = "auto",
    target: Targets = None,
    workers: Annotated[int | None, typer.Option(help="Verifications at once, in all; by default one a core.")] = None,
    episodes: Annotated[
        int | None, typer.Option(help="Episodes at once; more than --workers where a model is slow. Default: as many.")
    ] = None,
    engine: Annotated[
        str, typer.Option(help="Where verifications run: local, or ray (install kgb-gym with its extra `ray`).")
    ] = "local",
    seed: Seed = 0,
    time_limit: Limit = None,
    progress: Annotated[str, typer.Option(help="auto, live, plain, or json: one JSON object an event.")] = "auto",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan and an estimate, and run nothing.")
    ] = False,
    model: Annotated[str | None, _option("The model's name, as its server knows it.", _MODEL)] = None,
    provider: Annotated[
        str, _option("The server's protocol: openai, anthropic; or loopback, a script in place of a model.", _MODEL)
    ] = "openai",
    base_url: Annotated[str | None, _option("Such as http://localhost:8000/v1; else the provider's.", _MODEL)] = None,
    api_key_env: Annotated[
        str | None, _option("Environment variable with the key; OPENAI_API_KEY or ANTHROPIC_API_KEY.", _MODEL)
    ] = None,
    temperature: Annotated[
        str | None, _option("0 to 2, or none to send none; by default the paper's for the method.", _MODEL)
    ] = None,
    top_p: Annotated[float | None, _option("Nucleus sampling.", _MODEL)] = None,
    max_tokens: Annotated[int, _option("Tokens of one answer, at most.", _MODEL)] = 16384,
    sampling_seed: Annotated[int | None, _option("Sent to the server; some repeat answers under it.", _MODEL)] = None,
    extra: Annotated[str | None, _option("Further fields of each request, as a JSON object.", _MODEL)] = None,
    request_timeout: Annotated[
        float, _option("Seconds that one request may take, from sending it to the last byte of its answer.", _MODEL)
    ] = 600.0,
    tries: Annotated[int, _option("Requests for one answer, at most.", _MODEL)] = 6,
    requests_per_minute: Annotated[float | None, _option("Rate limit.", _MODEL)] = None,
    tokens_per_minute: Annotated[float | None, _option("Rate limit, prompts and answers together.", _MODEL)] = None,
    samples: Annotated[int | None, _option("Independent samples of each operator; k for pass@k.", _METHOD)] = None,
    early_stop: Annotated[
        bool, _option("Whether pass@k ends with the first clean pass; without: unbiased.", _METHOD)
    ] = True,
    rounds: Annotated[int | None, _option("Rounds of reflection and no-reflection; 5.", _METHOD)] = None,
    optimise: Annotated[
        bool, _option("Reflection goes on after a clean pass, for speed.", _METHOD, "--optimise")
    ] = False,
    program: Annotated[str | None, _option("The agent's program, if it isn't on the PATH.", _AGENT)] = None,
    driver: Annotated[
        str | None, _option("Who follows autokernel's, ako4all's, …'s instructions: claude-code, opencode.", _AGENT)
    ] = None,
    instructions: Annotated[
        Path | None, _option("A checkout of autokernel, ako4all or cuda-optimized-skill.", _AGENT)
    ] = None,
    pass_env: Annotated[
        list[str] | None, _option("Further environment variables that the agent gets; may be repeated.", _AGENT)
    ] = None,
    readable: Annotated[
        list[Path] | None, _option("Further folders that the agent may read; may be repeated.", _AGENT)
    ] = None,
    unfenced: Annotated[
        bool,
        _option("Run agents even where the kernel can't keep them from reading gold kernels.", _AGENT, "--unfenced"),
    ] = False,
    wall: Annotated[float, _option("Wall seconds that the model or agent has for an operator.", _LIMITS)] = 1800.0,
    episode_tokens: Annotated[int | None, _option("Tokens of one episode.", _LIMITS)] = None,
    run_tokens: Annotated[int | None, _option("Tokens of the whole run.", _LIMITS)] = None,
    run_usd: Annotated[float | None, _option("US dollars of the whole run; needs --prices.", _LIMITS)] = None,
    run_hours: Annotated[float | None, _option("Wall hours of this call.", _LIMITS)] = None,
    prices: Annotated[Path | None, _option("JSON file: US dollars per million tokens, by model.", _LIMITS)] = None,
    as_json: Json = False,
) -> None:
    """Run a method over operators and record every step. Ctrl-C stops cleanly."""
    from kgb_gym.cli import run as runner

    raise typer.Exit(
        runner.run(
            runner.Options(
                method=method, operators=operators, out=out, suite=suite, platform=platform,
                targets=tuple(target or ()), workers=workers, episodes=episodes, engine=engine, seed=seed, time_limit=time_limit, progress=progress, dry_run=dry_run,
                model=model, provider=provider, base_url=base_url, api_key_env=api_key_env, temperature=temperature,
                top_p=top_p, max_tokens=max_tokens, sampling_seed=sampling_seed, extra=extra,
                request_timeout=request_timeout, tries=tries, requests_per_minute=requests_per_minute,
                tokens_per_minute=tokens_per_minute, samples=samples, early_stop=early_stop, rounds=rounds,
                optimise=optimise, program=program, driver=driver, instructions=instructions,
                pass_env=tuple(pass_env or ()), readable=tuple(readable or ()), unfenced=unfenced, wall=wall,
                episode_tokens=episode_tokens, run_tokens=run_tokens, run_usd=run_usd, run_hours=run_hours,
                prices=prices, as_json=as_json,
            )
        )
    )  # fmt: skip
