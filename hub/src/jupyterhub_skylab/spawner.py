"""The spawner (SQR-066, "JupyterHub spawner class")."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from jupyterhub.spawner import Spawner
from traitlets import default

from . import errors
from .answers import Lab
from .connections import Trust
from .controller import Controller
from .creation import Creation
from .errors import LabError, Refused, Unreachable
from .events import Event
from .patience import Patience
from .progress import Log, Progress
from .settings import SpawnerSettings
from .watch import Outcome, Watch

#: How often an existing lab is deleted; somebody else may keep making labs.
MOST_ROUNDS = 3

#: Tokens that are allowed in a header.
_token_form = re.compile(r"[!-~]+")


class RESTSpawner(SpawnerSettings, Spawner):
    """Gives users labs by the REST API of a lab controller.

    It does not use Kubernetes. The user's own token, from `auth_state`, creates the lab and reads its form and events.
    The Hub's token deletes the lab and reads its status.
    """

    #: The error of the latest poll of any lab; the log has it once, not for each lab.
    _poll_problem: ClassVar[str] = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Set before the base class, which calls `load_state`.
        self._progress = Progress()
        #: The latest creation, until its lab was removed.
        self._creation: Creation | None = None
        super().__init__(*args, **kwargs)

    @default("options_form")
    def _default_options_form(self) -> Any:
        return type(self).lab_form

    async def lab_form(self) -> str:
        """The user's form for `user_options` on the Hub's page (SQR-066, "options_form").

        Raises `LabError` with the reason, since without a form the Hub would start a lab with no options at all.
        """
        if self.name:
            raise errors.named_server()
        token = await self._required_user_token()
        with self._in_words(errors.refused_to_user):
            return await self._controller().form(self.user.name, token)

    async def start(self) -> str:
        """Creates the lab and waits until it answers (SQR-066, "start"). Returns its URL.

        Raises `LabError` with the reason. If the user or `start_timeout` cancels it, the Hub calls `stop`.
        """
        if self.name:
            raise errors.named_server()
        log = await self._progress.begin()
        try:
            token = await self._required_user_token()
            patience = self._patience()
            await self._create(log, token, patience)
            return await self._arrive(log, token, patience)
        except LabError as error:
            await self._progress.finish(log, error.jupyterhub_message)
            raise
        finally:
            await self._progress.finish(log, "The start was given up.")

    async def stop(self, now: bool = False) -> None:
        """Deletes the lab and waits until it is gone (SQR-066, "stop"). Supersedes a creation in progress.

        `now` changes nothing: the controller decides how long a lab may take to end. Raises `LabError` with the reason.
        """
        if self.name:
            # A named server never existed; the user's lab is not affected.
            return
        log = await self._progress.begin()
        try:
            record = partial(self._progress.take, log)
            patience = self._patience()
            await self._settle(patience)
            words = await self._remove(await self._user_token(), patience, record)
            self._creation = None
            await self._progress.finish(log, words)
        except LabError as error:
            # The Hub itself does not report the error.
            self.log.error("%s: the lab was not stopped: %s", self._log_name, error.jupyterhub_message)
            await self._progress.finish(log, error.jupyterhub_message)
            raise
        finally:
            await self._progress.finish(log, "The stop was given up.")

    async def poll(self) -> int | None:
        """None: there is a lab, or its state is unknown; 0: there is no lab; 2: it failed (SQR-066, "poll").

        Never raises: if a poll raises, JupyterHub treats the lab as gone, and removes it.
        """
        if self.name:
            return 0
        try:
            lab = await self._lab()
        except Unreachable:
            # The connections log it once for all labs.
            return None
        except Exception as error:
            self._tell_poll_problem(errors.describe(error))
            return None
        self._tell_poll_problem("")
        if lab is not None and lab.status != "failed":
            return None
        if self._creation is not None and self._creation.is_open:
            # The creation may still be on its way. `User.stop` calls `stop` only for a spawner that polls as running.
            return None
        return 2 if lab else 0

    async def get_url(self) -> str:
        """The lab's URL. A restarted Hub calls this for labs that poll as running.

        It never raises, since an error would end the start of JupyterHub 5 and 6 (`app.py`, `check_spawner`). The Hub
        then checks whether the lab answers at the URL, and removes it if not. So while the controller is away, the
        remembered URL is enough.
        A lab that was being created when the Hub died has no URL yet. This method waits for it, in the background
        (`init_spawners_timeout`). The lab then is the user's: its token is in the Hub's database.
        """
        remembered: str = self.server.url
        if self.name:
            return remembered
        try:
            found = await asyncio.wait_for(self._find_url(known=bool(self.server.ip)), self.start_timeout)
        except Exception as error:
            self.log.warning("%s: its URL is not known: %s", self._log_name, errors.describe(error))
            return remembered
        return found or remembered

    async def progress(self) -> AsyncGenerator[dict[str, Any], None]:
        """Yields the events of the latest start or stop until it has ended (SQR-066, "progress")."""
        async for event in self._progress.follow(lambda: self.pending == "spawn"):
            yield event

    def get_state(self) -> dict[str, Any]:
        """The latest events, for the Hub's database."""
        state: dict[str, Any] = super().get_state()
        return state | self._progress.state()

    def load_state(self, state: dict[str, Any]) -> None:
        """Loads what `get_state` returned to an earlier Hub."""
        super().load_state(state)
        self._progress.restore(state)

    def clear_state(self) -> None:
        """Forgets the latest events."""
        super().clear_state()
        self._progress.clear()

    async def _create(self, log: Log, token: str, patience: Patience) -> None:
        """Gets a creation accepted. Deletes an existing lab first: it has the Hub token of an earlier spawn."""
        body = self._body()
        for _ in range(MOST_ROUNDS):
            create = partial(self._controller().create, self.user.name, token, body)
            self._creation = creation = Creation(create)
            # A repeat gets the answer of the lost first request, so a 409 is about another lab here too.
            with self._in_words(errors.refused_to_user):
                if await patience.insist(creation.ask):
                    return
            self.log.info("%s: a lab that is there already is deleted first", self._log_name)
            await self._remove(token, patience, partial(self._record_words, log))
        raise errors.lab_failed("Somebody else keeps creating this lab. Try again later.")

    async def _arrive(self, log: Log, token: str, patience: Patience) -> str:
        """Follows an accepted creation to its end. Returns the lab's URL."""
        record = partial(self._progress.take, log)
        while True:
            outcome = await self._watch(token, patience, record, deletion=False)
            if outcome.result != "complete":
                raise errors.lab_failed(outcome.reason)
            await self._progress.finish(log, outcome.words)
            with self._in_words(self._refused_to_hub):
                lab = await patience.insist(self._lab)
            if lab is None or lab.status != "pending":
                if lab is None or lab.internal_url is None:
                    raise errors.lab_failed("The lab was gone as soon as it had started.")
                return lab.internal_url
            # Another operation completed, and somebody else's creation has begun.

    async def _settle(self, patience: Patience) -> None:
        """Gets an answer for a creation with unknown outcome, so that it cannot arrive after the deletion."""
        if self._creation is None or not self._creation.is_open:
            return
        with self._in_words(self._refused_to_hub), suppress(Refused):
            await patience.insist(self._creation.ask)

    async def _remove(self, token: str | None, patience: Patience, record: Callable[[Event], Awaitable[None]]) -> str:
        """Deletes the lab and waits until it is gone. Returns the last message."""
        for _ in range(MOST_ROUNDS):
            with self._in_words(self._refused_to_hub):
                there = await patience.insist(self._delete)
            if not there:
                return "There is no lab."
            outcome = await self._watch(token, patience, record, deletion=True)
            if outcome.result == "failed":
                raise errors.lab_failed(outcome.reason)
            if outcome.result != "other":
                return outcome.words
        raise errors.lab_failed("Somebody else keeps creating this lab. Try again later.")

    async def _watch(
        self, token: str | None, patience: Patience, record: Callable[[Event], Awaitable[None]], *, deletion: bool
    ) -> Outcome:
        watch = Watch(
            self._controller(),
            self.user.name,
            deletion=deletion,
            user_token=token,
            hub_token=self._own_token,
            patience=patience,
            record=record,
            log=self.log,
        )
        with self._in_words(self._refused_to_hub):
            return await watch.outcome()

    async def _record_words(self, log: Log, event: Event) -> None:
        """Shows an event of the deletion before a creation, without its progress, which is not the creation's."""
        if event.name != "progress":
            await self._progress.take(log, event)

    async def _find_url(self, *, known: bool) -> str | None:
        patience = Patience(float("inf"), self.retry_delay)
        turn = 0
        while True:
            try:
                lab = await self._lab()
            except Unreachable as error:
                if known:
                    return None
                await patience.bear(error)
                continue
            if lab is None or lab.status != "pending":
                return lab.internal_url if lab else None
            await patience.pause(turn)
            turn += 1

    async def _lab(self) -> Lab | None:
        return await self._controller().lab(self.user.name, self._own_token())

    async def _delete(self) -> bool:
        return await self._controller().delete(self.user.name, self._own_token())

    def _controller(self) -> Controller:
        self._warn_of_exposure()
        return Controller(
            url=self.controller_url,
            trust=Trust(self.ca_file, self.verify_tls),
            connect_timeout=self.connect_timeout,
            request_timeout=self.request_timeout,
            event_timeout=self.event_timeout,
        )

    def _patience(self) -> Patience:
        return Patience(self.outage_seconds, self.retry_delay)

    def _body(self) -> bytes:
        """The body of a create. It has secrets: the lab's token for the Hub."""
        env = {name: str(value) for name, value in self.get_env().items() if value is not None}
        try:
            return json.dumps({"options": self.user_options, "env": env}).encode()
        except (TypeError, ValueError):
            raise LabError("A lab has no options that are files.", status=422, reason="refused") from None

    async def _user_token(self) -> str | None:
        """The user's own token, or None if it is missing or not allowed in a header."""
        token = errors.as_dict(await self.user.get_auth_state()).get(self.user_token_key)
        return token if isinstance(token, str) and _token_form.fullmatch(token) else None

    async def _required_user_token(self) -> str:
        token = await self._user_token()
        if token is None:
            raise errors.no_token()
        return token

    def _own_token(self) -> str:
        """The Hub's own token. Raises `Refused` without one, as the controller would."""
        token = self.hub_token
        if self.hub_token_file:
            try:
                # A small local file: reading it does not block the loop noticeably.
                token = Path(self.hub_token_file).read_text(encoding="ascii", errors="replace").strip()
            except OSError as error:
                raise Refused(401, f"hub_token_file cannot be read: {error}") from None
        if not _token_form.fullmatch(token):
            raise Refused(401, "the Hub has no token of its own: set hub_token_file")
        return token

    def _refused_to_hub(self, error: Refused) -> LabError:
        self.log.error("%s: the lab controller refuses the Hub: %s", self._log_name, error)
        return errors.refused_to_hub(error)

    def _tell_poll_problem(self, problem: str) -> None:
        if problem != RESTSpawner._poll_problem:
            RESTSpawner._poll_problem = problem
            if problem:
                self.log.error("labs cannot be polled, and are taken for running: %s", problem)

    @contextmanager
    def _in_words(self, refusal: Callable[[Refused], LabError]) -> Iterator[None]:
        """Turns errors into messages for the user."""
        try:
            yield
        except Refused as error:
            raise refusal(error) from None
        except Unreachable:
            raise errors.away() from None
