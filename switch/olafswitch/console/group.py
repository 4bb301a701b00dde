"""Groups of verbs, one file a verb."""

import importlib
import pkgutil
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import click


class VerbGroup(click.Group):
    """A group whose sub-commands are the modules of a package, each imported only when named.

    A module ``init.py`` holding ``command`` is the verb ``init``, ``drop_in`` the verb ``drop-in``; there is
    nothing to register.
    """

    not_verbs: frozenset[str] = frozenset()
    """Modules of the package that are no verbs."""

    def __init__(self, *args: Any, package: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._package = package

    def sections(self) -> Mapping[str, str]:
        """Return packages of verbs by the title of their section in the help."""
        return {"Commands": self._package}

    def nearest(self, word: str, ctx: click.Context) -> str | None:
        """Return the verb that is nearest to ``word``, which is no verb."""
        return next(iter(get_close_matches(word, self.list_commands(ctx), n=1)), None)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for package in self.sections().values() for name in self._names(package)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for package in self.sections().values():
            if cmd_name in self._names(package):
                return _command(package, cmd_name)
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = self.nearest(args[0], ctx)
            meant = f" Did you mean {near}?" if near else ""
            raise click.UsageError(f"{error.message}{meant}", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, package in self.sections().items():
            names = self._names(package)
            limit = formatter.width - 6 - max(map(len, names))
            with formatter.section(title):
                formatter.write_dl(
                    [(name, _command(package, name).get_short_help_str(limit)) for name in names]
                )

    def _names(self, package: str) -> list[str]:
        names = (module.name for module in pkgutil.iter_modules(importlib.import_module(package).__path__))
        return [name.replace("_", "-") for name in names if name not in self.not_verbs]


def _command(package: str, name: str) -> click.Command:
    command = importlib.import_module(f"{package}.{name.replace('-', '_')}").command
    assert isinstance(command, click.Command)
    return command
