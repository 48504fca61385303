"""The command that serves the page and the REST interface."""

from __future__ import annotations

from typing import Any

import click

from adhominem.cli import options as opt


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@opt.number("--port", 8000, "0: any free.", of=click.IntRange(0, 65535))
@opt.model
@opt.population
@click.option(
    "--token",
    envvar="ADHOMINEM_TOKEN",
    default="",
    help="Whoever asks must know it; better set ADHOMINEM_TOKEN, which other users cannot see.",
)
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="A name that the server is reached by, if there is a proxy before it.",
)
@opt.number("--max-bytes", 16 << 20, "The largest request to accept, in bytes.")
@opt.number(
    "--timeout",
    120.0,
    "Seconds until a request is given up.",
    of=click.FloatRange(min=0, min_open=True),
)
@opt.number(
    "--per-client",
    128,
    "Requests of one address at a time, of 256 in all. Behind a proxy, all have its address.",
)
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
def serve(
    model: str,
    population: str | None,
    max_bytes: int,
    timeout: float,
    per_client: int,
    allow_host: tuple[str, ...],
    **options: Any,
) -> None:
    """A page to compare texts in a browser, and a REST interface for programs.

    Texts are neither stored nor logged. Without --host only this machine can reach it.

    \b
        adhominem serve --open
        ADHOMINEM_TOKEN=secret adhominem serve --host 0.0.0.0 --population similar-texts
    """
    from adhominem.cli.terminal import complain
    from adhominem.errors import MissingExtraError

    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(error.name or "fastapi", "serve", "adhominem serve") from None
    from adhominem.web.limits import Limits
    from adhominem.web.server import serve as serve_all
    from adhominem.web.service import Service

    limits = Limits(bytes=max_bytes, seconds=timeout, per_client=per_client)
    service = Service.open(model, population, limits)
    serve_all(service, names=allow_host, say=complain, **options)
