"""What `kgb run` was told, and the method, model and limits that this means."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgb_gym.cli import find
from kgb_gym.cli.errors import WrongUse

if TYPE_CHECKING:
    from kgb_gym.baselines.methods import Method
    from kgb_gym.baselines.models import Endpoint, Sampling
    from kgb_gym.runs import Account, RunConfig

LOOPBACK = "loopback"
"""The provider that is a script on this machine."""


@dataclass(frozen=True)
class Options:
    """The arguments of `kgb run`; see its help."""

    method: str
    operators: str
    out: Path
    suite: str = "auto"
    platform: str = "auto"
    targets: tuple[str, ...] = ()
    workers: int | None = None
    episodes: int | None = None
    engine: str = "local"
    seed: int = 0
    time_limit: float | None = None
    progress: str = "auto"
    dry_run: bool = False
    model: str | None = None
    provider: str = "openai"
    base_url: str | None = None
    api_key_env: str | None = None
    temperature: str | None = None
    top_p: float | None = None
    max_tokens: int = 16384
    sampling_seed: int | None = None
    extra: str | None = None
    request_timeout: float = 600.0
    tries: int = 6
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    samples: int | None = None
    early_stop: bool = True
    rounds: int | None = None
    optimise: bool = False
    program: str | None = None
    driver: str | None = None
    instructions: Path | None = None
    pass_env: tuple[str, ...] = ()
    readable: tuple[Path, ...] = ()
    unfenced: bool = False
    wall: float = 1800.0
    episode_tokens: int | None = None
    run_tokens: int | None = None
    run_usd: float | None = None
    run_hours: float | None = None
    prices: Path | None = None
    as_json: bool = False


def method(options: Options) -> Method:
    """The method, with the settings that were given.

    Raises:
        WrongUse: there is none, a setting doesn't fit it, or its model is missing.
    """
    from kgb_gym.baselines import methods

    try:
        found = methods.find(
            options.method,
            samples=options.samples,
            early_stop=options.early_stop,
            rounds=options.rounds,
            optimise=options.optimise,
            wall_s=options.wall,
            max_tokens=options.episode_tokens,
        )
    except ValueError as error:
        raise WrongUse(str(error)) from None
    if found.kind == "scripted":
        if options.model is not None or options.provider == LOOPBACK:
            raise WrongUse(f"--method {found.name} has no model: leave --model out")
    elif options.model is None and options.provider != LOOPBACK:
        raise WrongUse(f"--method {found.name} needs --model: its name, as its server knows it")
    return found


def endpoint(options: Options, model: str, base_url: str | None) -> Endpoint:
    """Where the model is reached.

    Raises:
        WrongUse: an argument makes no sense.
    """
    from kgb_gym.baselines.models import PROVIDERS, Endpoint, Retry

    provider = "openai" if options.provider == LOOPBACK else options.provider
    if provider not in PROVIDERS:
        raise WrongUse(f"unknown provider {provider!r}: use one of {', '.join((*PROVIDERS, LOOPBACK))}")
    try:
        return Endpoint(
            model=model,
            provider=provider,
            base_url=base_url,
            api_key_env=None if options.provider == LOOPBACK else options.api_key_env,
            timeout_s=options.request_timeout,
            retry=Retry(tries=options.tries),
            requests_per_minute=options.requests_per_minute,
            tokens_per_minute=options.tokens_per_minute,
        )
    except ValueError as error:
        raise WrongUse(str(error)) from None


def sampling(options: Options, found: Method) -> Sampling:
    """How the model is asked to write.

    Raises:
        WrongUse: a setting is out of range.
    """
    from kgb_gym.baselines.models import Sampling

    temperature = found.temperature
    if options.temperature is not None:
        try:
            temperature = None if options.temperature == "none" else float(options.temperature)
        except ValueError:
            raise WrongUse(f"--temperature must be a number, or none; got {options.temperature!r}") from None
    extra: Any = {}
    if options.extra:
        try:
            extra = json.loads(options.extra)
        except ValueError as error:
            raise WrongUse(f"--extra must be a JSON object: {error}") from None
        if not isinstance(extra, dict):
            raise WrongUse(f"--extra must be a JSON object, got {options.extra}")
    try:
        return Sampling(temperature, options.top_p, options.max_tokens, options.sampling_seed, extra)
    except ValueError as error:
        raise WrongUse(str(error)) from None


def config(options: Options, found: Method) -> RunConfig:
    """The run's configuration: everything that makes results comparable. Addresses and keys are no part of it.

    Raises:
        WrongUse: an argument makes no sense.
    """
    from kgb_gym.runs import RunConfig
    from kgb_gym.verification.protocols import Limits

    place = find.platform(options.platform)
    limits = Limits()
    if (longest := options.time_limit) is not None:
        if not longest > 0:
            raise WrongUse(f"--time-limit must be positive, got {longest}")
        limits = replace(limits, correctness_s=longest, call_s=min(limits.call_s, longest))
    operators = find.match(options.operators)
    find.offered(operators, place)
    try:
        return RunConfig(
            method=found.name,
            operators=operators,
            suite=find.suite(options.suite, place),
            platform=place.name,
            seed=options.seed,
            samples=found.samples,
            early_stop=found.early_stop,
            prompt=found.prompt,
            targets=find.targets(options.targets),
            settings=_settings(options, found),
            budgets=found.budgets,
            limits=limits,
        )
    except ValueError as error:
        raise WrongUse(str(error)) from None


def account(options: Options) -> Account:
    """The limits of the whole run.

    Raises:
        WrongUse: a limit makes no sense, or the price table doesn't name the model.
    """
    from kgb_gym.runs import Account, Caps, read_prices

    hours = options.run_hours
    try:
        prices = read_prices(options.prices, options.model or "") if options.prices is not None else None
        return Account(Caps(options.run_tokens, options.run_usd, None if hours is None else hours * 3600), prices)
    except ValueError as error:
        raise WrongUse(str(error)) from None


def _settings(options: Options, found: Method) -> dict[str, Any]:
    if found.kind == "scripted":
        return {}
    settings: dict[str, Any] = {"model": options.model or LOOPBACK, "provider": options.provider}
    if found.kind == "model":
        return settings | {"sampling": asdict(sampling(options, found))}
    return settings | {"driver": options.driver, "wall_s": found.wall_s, "fenced": not options.unfenced}
