"""What plays a run's episodes: a scripted policy, one that asks a model, or an agent. Holds what they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from kgb_gym.cli import run_options
from kgb_gym.cli.errors import WrongUse
from kgb_gym.cli.run_options import LOOPBACK, Options

if TYPE_CHECKING:
    from kgb_gym.baselines import Policy
    from kgb_gym.baselines.agents import Agent
    from kgb_gym.baselines.methods import Method

Factory = Callable[[], "Policy"]

PUBLIC = {"openai": "https://api.openai.com", "anthropic": "https://api.anthropic.com"}
"""Where agents are sent without --base-url."""


@contextmanager
def policies(options: Options, found: Method) -> Iterator[Factory | None]:
    """Makes policies for workers; None: the default ones, which need nothing. What they share is closed at the end.

    Raises:
        WrongUse: an argument makes no sense.
        Hopeless: an SDK, a program or a key is missing.
    """
    if found.kind == "scripted":
        yield None
        return
    with ExitStack() as stack:
        model, base_url = options.model or "", options.base_url
        if options.provider == LOOPBACK:
            from kgb_gym.baselines.models import rehearsal

            server = stack.enter_context(rehearsal.server())
            model, base_url = rehearsal.MODEL, server.url
        if found.kind == "agent":
            yield _agents(options, found, model, base_url)
            return
        from kgb_gym.baselines.methods.build import asking
        from kgb_gym.baselines.models import connect

        sampling = run_options.sampling(options, found)
        client = connect(run_options.endpoint(options, model, base_url))
        stack.callback(client.close)
        yield lambda: asking(found, client, sampling, synthetic=options.provider == LOOPBACK)


def _agents(options: Options, found: Method, model: str, base_url: str | None) -> Factory:
    from kgb_gym.baselines.agents import AgentPolicy

    if options.provider == LOOPBACK:
        raise WrongUse("--provider loopback answers no agent: it sends modules, and calls no tools")
    agent = _agent(options, found, model, base_url)
    agent.check()
    return lambda: AgentPolicy(found.name, agent)


def _agent(options: Options, found: Method, model: str, base_url: str | None) -> Agent:
    from kgb_gym.baselines.agents import INSTRUCTIONS, PROGRAMS, Agent, Reach, find_program
    from kgb_gym.cli import find

    instructions = INSTRUCTIONS.get(found.name)
    name = options.driver or ("claude-code" if instructions else found.name)
    if name not in PROGRAMS:
        raise WrongUse(f"unknown driver {name!r}: use one of {', '.join(PROGRAMS)}")
    if options.driver and instructions is None:
        raise WrongUse(f"--method {found.name} is its own driver: leave --driver out")
    program = PROGRAMS[name]
    endpoint = run_options.endpoint(options, model, base_url)
    reach = Reach(
        find_program(program.command, program.install, options.program),
        readable=options.readable,
        pass_env=options.pass_env,
        devices=find.platform(options.platform).timed,
        fenced=not options.unfenced,
    )
    upstream = (base_url or PUBLIC[endpoint.provider]).rstrip("/").removesuffix("/v1")
    return Agent(
        program,
        reach,
        model,
        endpoint.provider,
        upstream,
        endpoint.key(),
        found.wall_s,
        options.max_tokens,
        instructions,
        options.instructions,
    )
