"""What other services ask a runner: which models there are, whether a key works, which servers are found, a pull.

The gateway calls no model and no provider. Here is looked up again what the asking user may do.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

from nats.aio.client import Client

from bus.rpc.answering import Answerer, Question
from bus.rpc.errors import AnswerRefused
from chassis.errors import Refused
from chassis.saved import SavedSettings
from chassis.sealing import refusal_of
from contracts import rpc
from contracts.subjects import (
    RPC_FOUND,
    RPC_KEY_TEST,
    RPC_MODELS,
    RPC_PROVIDERS,
    RPC_PULL,
    RPC_PULL_STOP,
    RPC_SETTINGS,
)
from llm import ModelError, NotConfigured
from llm.catalogue import Catalogue, Listing, ModelFacts
from llm.provider import KINDS, OWN_ADDRESS, Kind, Provider, named
from store import Store, StoreAway
from store.repositories import providers as rows
from store.system import settings as system
from turn_runner.providers import Known, UsersProviders
from turn_runner.pulls import Pulls
from turn_runner.roles import Chosen, Roles
from turn_runner.settings import RunnerSettings
from vault import Vault, VaultError

TITLES = {11434: "Ollama", 1234: "LM Studio", 8000: "vLLM", 8080: "llama.cpp"}
"""What usually listens on a port."""

MOST_NAMES = 500


@dataclass(frozen=True, slots=True)
class _Page:
    """Choices of a page: no thread, no agent, what the user prefers."""

    settings: Mapping[str, Any]
    model: None = None
    effort: None = None
    fallback_models: Sequence[str] = ()
    thread_model: None = None
    thread_effort: None = None


@dataclass(frozen=True, slots=True)
class _Listed:
    """A provider and its list, as far as it came in time."""

    known: Known
    listing: Listing = field(default_factory=Listing)
    error: str | None = None

    def state(self) -> rpc.ProviderState:
        provider, row = self.known.provider, self.known.row
        has_list = self.error is None or bool(self.listing.models)
        at = self.listing.fetched_at
        return rpc.ProviderState(
            name=provider.name,
            kind=provider.kind,
            base_url=provider.base_url or None,
            is_own=provider.is_own,
            source="environment" if row is None else "saved",
            id=None if row is None else row.id,
            key_hint=self.known.hint,
            models=len(self.listing.models) if has_list else None,
            error=self.error,
            fetched_at=at.timestamp() if at else None,
        )


class Questions:
    """One per process."""

    def __init__(
        self,
        settings: RunnerSettings,
        saved: SavedSettings[RunnerSettings],
        store: Store,
        vault: Vault,
        users: UsersProviders,
        catalogue: Catalogue,
        pulls: Pulls,
    ) -> None:
        self._settings = settings
        self._saved = saved
        self._store = store
        self._vault = vault
        self._users = users
        self._catalogue = catalogue
        self._pulls = pulls

    async def subscribe(self, client: Client) -> Answerer:
        """Hear all of them; the answerer is closed by who called this."""
        answerer = Answerer(client, "turn_runner", refusals=_refused)
        await answerer.answer(RPC_MODELS, rpc.ModelsWish, self.models)
        await answerer.answer(RPC_PROVIDERS, rpc.ProvidersWish, self.providers)
        await answerer.answer(RPC_KEY_TEST, rpc.KeyTestWish, self.key_test)
        await answerer.answer(RPC_FOUND, rpc.FoundWish, self.found)
        await answerer.answer(RPC_SETTINGS, rpc.SettingsWish, self.settings)
        await answerer.answer_often(RPC_PULL, rpc.PullWish, self.pull)
        await answerer.hear(RPC_PULL_STOP, rpc.PullWish, self.stop_pull)
        return answerer

    async def models(self, question: Question[rpc.ModelsWish]) -> rpc.Models:
        """All that the user may choose from, and what answers where nothing is chosen."""
        listed = await self._listed(await self._users.known_of(question.user_id), question.seconds)
        providers = [each.known.provider for each in listed if each.known.fault is None]
        roles = Roles(self._settings, providers, self._catalogue)
        try:
            chosen, wrong = roles.chat(_Page(await self._users.settings_of(question.user_id))), None
        except NotConfigured as unknown:  # an alias that nothing answers to: a turn would say so, and so does the page
            chosen, wrong = (
                Chosen(self._settings.model_override or self._settings.model or "", "deployment"),
                str(unknown),
            )
        return rpc.Models(
            items=tuple(_entry(facts) for each in listed for facts in each.listing.models),
            providers=tuple(each.state() for each in listed),
            default=chosen.model_id,
            default_source=chosen.source,
            default_error=wrong,
            override=self._settings.model_override,
            roles={"cheap": None if wrong else _choice(roles.cheap(chosen.model_id))},
        )

    async def providers(self, question: Question[rpc.ProvidersWish]) -> rpc.Providers:
        """Who serves the user, and whether they can be asked."""
        listed = await self._listed(await self._users.known_of(question.user_id), question.seconds)
        return rpc.Providers(items=tuple(each.state() for each in listed))

    async def key_test(self, question: Question[rpc.KeyTestWish]) -> rpc.KeyTested:
        """Asks the provider for its models with this key. What is wrong comes as one sentence, never as an error."""
        provider = await self._to_test(question)
        begun = time.monotonic()
        wait = min(self._settings.key_test_wait, max(0.1, question.seconds - 1))
        try:
            async with asyncio.timeout(wait):
                listing = await self._catalogue.models_of(provider, force=True)
            error = listing.error
        except TimeoutError:
            listing, error = Listing(), f"There was no answer within {wait:g} s."
        took = round((time.monotonic() - begun) * 1000)
        if error is not None:
            return rpc.KeyTested(ok=False, error=error, took_ms=took)
        names = tuple(facts.id.partition("/")[2] for facts in listing.models[:MOST_NAMES])
        return rpc.KeyTested(ok=True, models=names, took_ms=took)

    async def found(self, question: Question[rpc.FoundWish]) -> rpc.Found:
        """Servers on this machine's usual ports that list models and are no providers yet."""
        await self._refuse_all_but_admins(question)
        taken = {_place(each.provider) for each in await self._users.known_of(question.user_id)}
        looked = [_local(each) for each in self._settings.local_servers]
        asked = [provider for provider in looked if _place(provider) not in taken]
        answers = await self._lists(asked, min(self._settings.local_server_wait, question.seconds))
        return rpc.Found(
            items=tuple(
                rpc.FoundServer(
                    kind=provider.kind,
                    base_url=provider.address,
                    title=_title(provider),
                    models=tuple(facts.id.partition("/")[2] for facts in answers[provider].models[:MOST_NAMES]),
                )
                for provider in asked
                if provider in answers and answers[provider].error is None
            )
        )

    async def settings(self, question: Question[rpc.SettingsWish]) -> rpc.SettingsTable:
        """The runner's settings as the next start would have them, and what is wrong with new values of its own."""
        await self._refuse_all_but_admins(question)
        await self._saved.refresh()
        mine = {name: value for name, value in question.body.changes.items() if name in RunnerSettings.model_fields}
        wrong = RunnerSettings.faults_of(mine)
        return rpc.SettingsTable(rows=[row.as_dict() for row in self._saved.table()], wrong=wrong)

    async def pull(self, question: Question[rpc.PullWish]) -> AsyncGenerator[rpc.PullProgress]:
        """Fetches a model, until it is there or somebody stops it; nobody needs to look on."""
        await self._refuse_all_but_admins(question)
        provider = named(question.body.provider, await self._users.of(question.user_id))
        if provider is None or provider.kind != "ollama":
            raise AnswerRefused(404, "not_found", "There is no Ollama of this name.")
        async for progress in self._pulls.follow(provider, question.body.model):
            yield progress

    async def stop_pull(self, question: Question[rpc.PullWish]) -> None:
        await self._refuse_all_but_admins(question)
        self._pulls.stop(question.body.provider, question.body.model)

    async def _refuse_all_but_admins(self, question: Question[Any]) -> None:
        if not await self._is_admin(question):
            raise AnswerRefused(403, "forbidden", "Only an admin may do this.")

    async def _is_admin(self, question: Question[Any]) -> bool:
        async with self._store.system() as session:
            return await system.is_admin(session, question.user_id)

    async def _to_test(self, question: Question[rpc.KeyTestWish]) -> Provider:
        wish = question.body
        if wish.provider_id is not None:
            row = await self._row(question, wish)
            key = b"" if row.key_sealed is None else await self._vault.open(row.key_sealed, row.context)
            return Provider(row.name, cast("Kind", row.kind), row.base_url or "", key.decode())
        if wish.kind not in KINDS:
            raise AnswerRefused(422, "invalid", f"kind: there is no kind of provider “{wish.kind}”.")
        if (wish.base_url or wish.kind in ("ollama", "compatible")) and not await self._is_admin(question):
            raise AnswerRefused(403, "forbidden", "Only an admin may try another address.")
        sealed = base64.b64decode(wish.sealed_key)
        context = rpc.TEST_KEY_CONTEXT.format(user_id=question.user_id)
        key = await self._vault.open(sealed, context) if sealed else b""
        return Provider(wish.kind, wish.kind, wish.base_url, key.decode())

    async def _row(self, question: Question[Any], wish: rpc.KeyTestWish) -> rows.SavedProvider:
        assert wish.provider_id is not None
        async with self._store.session(question.user_id) as session:
            row = await rows.get(session, question.user_id, wish.provider_id)
        if row is None and await self._is_admin(question):
            async with self._store.system() as session:
                row = await rows.get(session, None, wish.provider_id)
        if row is None:
            raise AnswerRefused(404, "not_found", "There is no such provider.")
        return row

    async def _listed(self, known: Sequence[Known], seconds: float) -> list[_Listed]:
        usable = [each.provider for each in known if each.fault is None]
        answers = await self._lists(usable, min(self._settings.listing_wait, max(0.1, seconds - 1)))
        listed: list[_Listed] = []
        for each in known:
            if each.fault is not None:
                listed.append(_Listed(each, error=each.fault))
            elif (listing := answers.get(each.provider)) is not None:
                listed.append(_Listed(each, listing, listing.error))
            else:
                listed.append(_Listed(each, error="It has not answered yet; look again in a moment."))
        return listed

    async def _lists(self, providers: Iterable[Provider], wait: float) -> dict[Provider, Listing]:
        """What answers within `wait` seconds; the others are still being asked, for the next time."""
        asked = {asyncio.ensure_future(self._catalogue.models_of(each)): each for each in dict.fromkeys(providers)}
        if not asked:
            return {}
        done, late = await asyncio.wait(asked, timeout=wait)
        for task in late:
            task.cancel()
        return {asked[task]: task.result() for task in done}


def _entry(facts: ModelFacts) -> rpc.ModelEntry:
    return rpc.ModelEntry(**{name: getattr(facts, name) for name in rpc.ModelEntry.model_fields})


def _choice(chosen: Chosen | None) -> rpc.RoleChoice | None:
    return None if chosen is None else rpc.RoleChoice(model=chosen.model_id, source=chosen.source)


def _local(server: str) -> Provider:
    kind, _, address = server.partition("=")
    return Provider(kind, "ollama" if kind == "ollama" else "compatible", address)


def _place(provider: Provider) -> tuple[str | None, int | None]:
    """Host and port: what makes two addresses one server; `localhost` is this machine too."""
    parts = urlsplit(provider.base_url or OWN_ADDRESS.get(provider.kind, ""))
    return ("127.0.0.1" if parts.hostname == "localhost" else parts.hostname), parts.port


def _title(provider: Provider) -> str:
    if provider.kind == "ollama":
        return "Ollama"
    return TITLES.get(urlsplit(provider.base_url).port or 0, "OpenAI-compatible server")


def _refused(wrong: Exception) -> AnswerRefused | None:
    """What the asker is told; none for a bug."""
    match wrong:
        case Refused():
            return AnswerRefused(wrong.status, wrong.error, wrong.message)
        case VaultError():
            told = refusal_of(wrong)
            return AnswerRefused(told.status, told.error, told.message)
        case ModelError():
            return AnswerRefused(409, wrong.code, f"{wrong.text[:1].upper()}{wrong.text[1:]}.")
        case StoreAway():
            return AnswerRefused(503, "busy", "The database does not answer at the moment; try again.")
        case _:
            return None
