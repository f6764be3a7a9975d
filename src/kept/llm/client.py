"""The language model client, which sends all questions and receives all replies.

It redacts every question again before sending it. It does not ask a question whose reply is stored. It stores each reply as it
arrives, so an interrupted run pays for nothing twice. It retries temporary failures with growing pauses. After an unusable reply it
asks the question once more, unless the model refused. It does not ask questions beyond a budget.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from kept.core.codec import map_strings
from kept.core.digest import digest
from kept.core.errors import ConfigError
from kept.core.times import format_instant, parse_stored_instant
from kept.llm.adapter import AdapterFailure, AdapterReply, BatchModel, Model, estimate_ask_tokens, format_full_prompt
from kept.llm.ask import (
    Ask,
    CompleteReply,
    Fault,
    PendingReply,
    Reply,
    TokenLimits,
    UnaffordableReply,
    UnreachableReply,
    UnreadableReply,
    Usage,
)
from kept.llm.budget import Estimate, Limits, Price, Tally, add_usage_cost, estimate_ask_usage, price_of
from kept.llm.replies import TRIES, Batch, QuestionNote, ReplyCache
from kept.llm.reply import InvalidReply
from kept.llm.retry import SECONDS, AskOutcome, OpenQuestion, Plan, RetryPolicy, ask_with_retries, read_adapter_reply
from kept.local.progress import Progress, ignore_progress, split_batches

_MOST_FAILURES = 3  # consecutive questions without a reply after which asking stops
_TYPICAL = 0.25  # the typical length of a reply as a share of the maximum; only for estimates
_BATCH_BYTES = 32 * 2**20  # far below the vendors' limits (256 MB, 100,000 questions), so that a failed batch loses little
_BATCH_HOURS = 26  # after this, a batch's questions are asked again, because both vendors end a batch within a day

Redact = Callable[[str], tuple[str, int]]


class LlmClient:
    """Asks questions and returns replies during one run (an :data:`kept.llm.ask.Asking`).

    ``create`` creates the model on first use. If it raises ConfigError, every question fails. The limits of a run, if there are
    any, come first in ``limits``. ``plan`` is the subscription that pays. With a plan, its share of calls is the limit, because
    tokens cost nothing. ``day_start`` returns when the day began in the person's time zone. ``program`` identifies the model's
    program. If it changes, questions with unreadable replies are asked again. ``token_limits`` may ask a server. ``tell`` receives
    progress messages and warnings.
    """

    def __init__(
        self,
        create: Callable[[], Model],
        *,
        replies: ReplyCache | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        day_start: Callable[[], datetime] | None = None,
        limits: Sequence[Limits] = (),
        pace: RetryPolicy | None = None,
        price: Price | None = None,
        redact: Redact = lambda text: (text, 0),
        batch: bool = False,
        program: str = "",
        token_limits: Callable[[], TokenLimits] = TokenLimits,
        plan: Plan | None = None,
    ) -> None:
        self.tally = Tally()
        self.tell: Callable[[str], None] = lambda _: None
        self.progress: Progress = ignore_progress
        self.dry = False
        self.retry = False  # if true, questions whose replies could not be read in several runs are asked again
        self._measure = token_limits
        self._plan = plan
        self._program = program
        self._create = create
        self._model: Model | None = None
        self._replies = replies or ReplyCache(None)
        self._clock = clock
        self._day_start = day_start or (lambda: clock().replace(hour=0, minute=0, second=0, microsecond=0))
        self._spent = {limit: Usage() for limit in limits}  # usage so far in the span of each limit
        self._pace = pace or RetryPolicy()
        self._price = price
        self._redact = redact
        self.batch = batch  # if true, questions that can wait go to the provider's batch API, if there is one
        self._awaited = Usage()  # the maximum cost of the pending batches
        self._announced = 0  # number of announced questions that are not sent yet
        self._failures = 0  # consecutive questions without a reply
        self._stopped: UnreachableReply | None = None  # after asking has stopped: the reply to every further question
        self._next = 0.0  # the earliest time (monotonic) of the next question

    @cached_property
    def token_limits(self) -> TokenLimits:
        """The size limits of questions and replies in tokens, determined on first use."""
        return self._measure()

    def __call__(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        """Ask all questions, wait, and return one reply per question in the same order. Raises StoreError."""
        try:
            model = self._load_model()
        except ConfigError as error:
            self.tally.questions += len(asks)
            unreachable = UnreachableReply(reason=str(error), fault=Fault.SETUP)
            for _ in asks:
                self.tally.count_outcome(unreachable)
            return [unreachable] * len(asks)
        safe = [self.redact_ask(ask) for ask in asks]
        keys = [ask.key(model.name) for ask in safe]
        self._load_spent()
        if not self.dry:
            self._collect_batches(model)
        replies: dict[str, Reply] = {}
        waiting: list[OpenQuestion] = []
        notes = [note for batch in self._replies.pending_batches(model.name) for note in batch.items.values()]
        pending = {note.key for note in notes}
        self._awaited = sum((note.most for note in notes), Usage())
        for key, ask in dict(zip(keys, safe, strict=True)).items():
            known = self._find_known_reply(key, pending)
            if known is None:
                waiting.append(OpenQuestion(key=key, ask=ask))
            else:
                replies[key] = known
        self.tally.questions += len(keys)
        self.tally.cached += sum(isinstance(reply, CompleteReply) for reply in replies.values())
        if self.dry:
            self.tally.would += self._estimate(waiting) + Estimate(cached=len(replies))
            return [replies.get(key) or UnaffordableReply(reason="a dry run asks nothing") for key in keys]
        coming = self._estimate(waiting)
        if coming.questions > self._announced:
            self.announce(coming)
        self._announced -= coming.questions
        submitted = self._submit_batches(model, waiting)
        replies |= submitted
        replies |= self._send_questions(model, [question for question in waiting if question.key not in submitted])
        for reply in replies.values():
            self.tally.count_outcome(reply)
        return [replies[key] for key in keys]

    def estimate(self, asks: Sequence[Ask]) -> Estimate:
        """Estimate the cost of questions without asking them. Needs neither key nor library. Raises StoreError."""
        made = {ask.key(self._name): ask for ask in map(self.redact_ask, asks)}
        waiting = [OpenQuestion(key=key, ask=ask) for key, ask in made.items() if self._replies.find_reply(key) is None]
        return self._estimate(waiting) + Estimate(cached=len(made) - len(waiting))

    def measure_pace(self) -> float | None:
        """The median number of seconds between recent replies. None if there are too few. Raises StoreError."""
        return self._replies.measure_pace(self._name)

    def stored_replies(self, asks: Sequence[Ask]) -> list[Reply]:
        """Return the stored replies without asking any question. Raises StoreError."""
        keys = [self.redact_ask(ask).key(self._name) for ask in asks]
        return [self._find_known_reply(key, set()) or PendingReply(reason="not asked yet") for key in keys]

    def drop_replies(self, asks: Sequence[Ask]) -> None:
        """Delete the stored replies to questions, so that they are asked again. Raises StoreError."""
        self._replies.drop_replies(self.redact_ask(ask).key(self._name) for ask in asks)

    def resume(self) -> None:
        """Resume asking if it stopped after consecutive failures although the model was reached, because the model may be able to
        answer another kind of question.
        """
        if self._stopped is not None and self._stopped.fault is Fault.FAILED:
            self._stopped, self._failures = None, 0

    def close(self) -> None:
        """Stop running requests and release resources."""
        if self._model is not None:
            self._model.close()
        self._replies.close()

    @property
    def missing(self) -> str:
        """A message about the setting, key or library that the model needs and that is missing. Empty if nothing is missing."""
        try:
            self._load_model()
        except ConfigError as error:
            return str(error)
        return ""

    @property
    def _name(self) -> str:
        """The name under which replies are stored. Empty if the model cannot be created."""
        return "" if self.missing else self._load_model().name

    def _load_model(self) -> Model:
        if self._model is None:
            self._model = self._create()
            self._price = self._price or price_of(self._model.name)
        return self._model

    def redact_ask(self, ask: Ask) -> Ask:
        """Redact a question before it is sent, because this is the last check, and reduce ``most`` to the model's limit."""
        most = min(ask.most, self.token_limits.reply)
        return replace(ask, system=self._redact_text(ask.system), prompt=self._redact_text(ask.prompt), most=most)

    def _redact_text(self, text: str) -> str:
        safe, count = self._redact(text)
        self.tally.secrets += count
        return safe

    def _find_known_reply(self, key: str, pending: set[str]) -> Reply | None:
        body = self._replies.find_reply(key)
        if body is not None:
            return CompleteReply(body=body, cached=True)
        if key in pending:
            return PendingReply(reason="its reply is being made in a batch of the provider; a later run collects it")
        tries, fault = self._replies.load_failures(key, self._program)
        if tries >= TRIES and not self.retry:
            reason = f"its reply could not be read in {tries} runs ({fault}); `kept run --force` or another model asks it again"
            return UnreadableReply(reason=reason, fault=Fault(fault))
        return None

    def _estimate(self, waiting: Sequence[OpenQuestion]) -> Estimate:
        usages = [
            estimate_ask_usage(question.ask, estimate_ask_tokens(question.ask), self._price, share=_TYPICAL) for question in waiting
        ]
        return Estimate(questions=len(waiting), usage=sum(usages, Usage()))

    def announce(self, coming: Estimate) -> None:
        """Announce questions before they are sent, and warn if a budget is too small for them."""
        self._announced, would = coming.questions, coming.usage
        many = "questions" if coming.questions != 1 else "question"
        summary = f"{coming.questions:,} {many}, about {would.input_tokens:,} tokens{self._format_cost(coming)}"
        if self._plan is None and coming.questions and would.cost is None and any(limits.usd for limits in self._spent):
            self._warn_of_budget(
                "the price of this model is unknown, so budgets in USD cannot be enforced: set llm.price_input and "
                "llm.price_output, or limit the tokens (llm.run_tokens)"
            )
        if short := self.find_shortfall(coming):
            self._warn_of_budget(f"{summary}: more than the budget of {short} allows; a later run asks the rest")
        elif coming.questions:
            self.tell(f"Asking {summary}")

    def _warn_of_budget(self, sentence: str) -> None:
        if sentence not in self.tally.reasons.get("budget", ()):
            self.tally.note("budget", sentence)
            self.tell(sentence)

    def find_shortfall(self, coming: Estimate) -> str:
        """Return the budget that is too small for all coming questions after what was spent. Empty if none. Raises StoreError."""
        self._load_spent()
        return self._exceeded_budget(replace(coming.usage, cost=coming.usage.cost or 0.0))

    def _load_spent(self) -> None:
        for limits in (limits for limits in self._spent if limits.span != "a run"):
            start = self._day_start() if limits.span == "a day" else self._day_start().replace(day=1)
            sums = self._replies.usage_between(start.astimezone(UTC))
            self._spent[limits] = sum((replace(item.usage, cost=item.usage.cost or 0.0) for item in sums), Usage())

    def _format_cost(self, coming: Estimate) -> str:
        if self._plan is not None:
            minutes = max(1, round(coming.questions * SECONDS / max(1, self._pace.concurrency) / 60))
            left = max(0, self._plan.calls - self._count_plan_calls())
            return f", about {minutes:,} min, through your plan with {self._plan.program}; {left} of them may be asked now"
        return f", about {coming.usage.cost:.2f} USD" if coming.usage.cost else ""

    def _count_plan_calls(self) -> int:
        since = self._clock() - timedelta(hours=self._plan.hours if self._plan else 0)
        return sum(spent.usage.calls for spent in self._replies.usage_between(since))

    def _exceeded_budget(self, more: Usage) -> str:
        """Return the budget that this additional usage and the pending batches would exceed. Empty if none."""
        more += self._awaited
        return next((name for limits, spent in self._spent.items() if (name := limits.find_exceeded(spent + more))), "")

    def _send_questions(self, model: Model, questions: Sequence[OpenQuestion]) -> dict[str, Reply]:
        """Send the questions concurrently, and store each reply as it arrives. Returns the replies by key."""
        waiting = deque(questions)
        flying: dict[Future[AskOutcome], OpenQuestion] = {}
        replies: dict[str, Reply] = {}
        with ThreadPoolExecutor(max_workers=max(1, self._pace.concurrency)) as pool:
            try:
                while waiting or flying:
                    while waiting and len(flying) < max(1, self._pace.concurrency):
                        reply = self._refuse_question(waiting[0], flying.values())
                        if reply is not None and flying and isinstance(reply, UnaffordableReply):
                            break  # wait, because running questions may cost less than was reserved for them
                        open_question = waiting.popleft()
                        if reply is not None:
                            replies[open_question.key] = reply
                            continue
                        self._throttle()
                        flying[pool.submit(ask_with_retries, model, open_question.ask, self._pace)] = open_question
                    done, _ = wait(flying, return_when=FIRST_COMPLETED)
                    for entry in done:
                        self._store_outcome(entry.result(), flying.pop(entry), waiting, replies)
                    self.progress("asking", len(replies), len(replies) + len(waiting) + len(flying))
            except BaseException:
                model.close()  # ends running requests now, not after their timeout
                for entry in [item for item in flying if item.done() and item.exception() is None]:
                    self._store_outcome(entry.result(), flying.pop(entry), waiting, replies)  # the reply is paid for, so store it
                pool.shutdown(cancel_futures=True)
                raise
        return replies

    def _refuse_question(self, question: OpenQuestion, flying: Iterable[OpenQuestion]) -> Reply | None:
        """Return None if a question may be sent, else a reply with the reason: the model is unreachable, or a budget is used up."""
        if self._stopped:
            return question.to_unreadable_reply() or self._stopped
        first_reply = question.to_unreadable_reply("; the budget allows no second try")
        reserved = sum((self._max_usage(item.ask) for item in (*flying, question)), Usage())
        if self._plan is not None and self._count_plan_calls() + reserved.calls > self._plan.calls:
            return first_reply or UnaffordableReply(reason=self._plan.reason)
        if short := self._exceeded_budget(reserved):
            return first_reply or UnaffordableReply(reason=f"the budget of {short} is used up")
        return None

    def _max_usage(self, ask: Ask, *, batched: bool = False) -> Usage:
        """The maximum cost of a question. If the price is unknown, its USD are the average of the run's earlier questions."""
        usage = estimate_ask_usage(ask, estimate_ask_tokens(ask), self._price, batched=batched)
        average = (run.cost or 0.0) / run.calls if (run := next(iter(self._spent.values()), Usage())).calls else 0.0
        return usage if usage.cost is not None else replace(usage, cost=average)

    def _throttle(self) -> None:
        if self._pace.rate > 0:
            now = self._pace.monotonic()
            if now < self._next:
                self._pace.sleep(self._next - now)
            self._next = max(now, self._next) + 60.0 / self._pace.rate

    def _store_outcome(
        self, outcome: AskOutcome, question: OpenQuestion, waiting: deque[OpenQuestion], replies: dict[str, Reply]
    ) -> None:
        """Store a reply and its cost. If the question needs a second try, put it at the front of the queue."""
        usage = self._price_usage(outcome.lost)
        if isinstance(outcome.result, AdapterReply):
            usage += self._price_usage(outcome.result.usage)
        if usage.calls:
            self._record_usage(question.ask.purpose, usage)
        question.spent += usage
        if isinstance(outcome.result, AdapterFailure):
            fault, reason = outcome.result.fault, self._redact(outcome.result.reason)[0]
            self._count_failure(fault, reason)
            unreachable = UnreachableReply(reason=reason, fault=fault, usage=question.spent)
            replies[question.key] = question.to_unreadable_reply() or unreachable
            return
        self._failures = 0
        match outcome.content:
            case InvalidReply() as invalid if invalid.fault is not Fault.REFUSAL and question.invalid_reply is None:
                waiting.appendleft(question.ask_again(invalid))
            case InvalidReply() as invalid:
                self._replies.count_failure(question.note(), invalid.fault.value, self._program)
                replies[question.key] = UnreadableReply(reason=invalid.reason, fault=invalid.fault, usage=question.spent)
            case body:
                replies[question.key] = self._store_reply(question.note(), body or {}, question.spent)

    def _price_usage(self, usage: Usage) -> Usage:
        """Set a usage's cost in USD. It is zero if a subscription pays."""
        return replace(usage, cost=0.0) if self._plan is not None else add_usage_cost(usage, self._price)

    def _store_reply(self, note: QuestionNote, body: Mapping[str, Any], usage: Usage) -> CompleteReply:
        safe = map_strings(dict(body), self._redact_text)
        assert self._model is not None
        self._replies.save_reply(note, self._model.name, safe, self._clock())
        return CompleteReply(body=safe, usage=usage)

    def _record_usage(self, purpose: str, usage: Usage) -> None:
        assert self._model is not None
        self._replies.save_usage(purpose, self._model.name, usage, self._clock())
        self.tally.add(purpose, usage)
        known = replace(usage, cost=usage.cost or 0.0)
        self._spent = {limits: spent + known for limits, spent in self._spent.items()}

    def _count_failure(self, fault: Fault, reason: str) -> None:
        self._failures += 1
        if fault is Fault.SETUP:
            self._stopped = UnreachableReply(reason=reason, fault=fault)
        elif fault is Fault.RATE_LIMIT and self._plan is not None:
            reason = f"your plan with {self._plan.program} allows no more for now ({reason}); a later run asks the rest"
            self._stopped = UnreachableReply(reason=reason, fault=fault)
        elif self._failures >= _MOST_FAILURES:
            reason = f"{self._failures} questions in a row got no reply, the last: {reason}"
            self._stopped = UnreachableReply(reason=reason, fault=fault)

    def _submit_batches(self, model: Model, waiting: Sequence[OpenQuestion]) -> dict[str, Reply]:
        """Submit questions that can wait to the provider's batch API if the user allows it. Returns a reply for each, by key."""
        if not self.batch or not isinstance(model, BatchModel):
            return {}
        chosen: list[OpenQuestion] = []
        reserved = Usage()
        for question in waiting:
            cost = self._max_usage(question.ask, batched=True)
            if question.ask.waits and not self._exceeded_budget(reserved + cost):
                chosen.append(question)
                reserved += cost
        replies: dict[str, Reply] = {}
        for questions in split_batches(chosen, lambda question: len(format_full_prompt(question.ask).encode()), _BATCH_BYTES):
            named = {digest(question.key): question for question in questions}
            batch = model.submit({name: question.ask for name, question in named.items()})
            if isinstance(batch, AdapterFailure):
                self._count_failure(batch.fault, batch.reason)
                replies |= dict.fromkeys(
                    (question.key for question in questions), UnreachableReply(reason=batch.reason, fault=batch.fault)
                )
                continue
            items = {
                name: replace(question.note(), most=self._max_usage(question.ask, batched=True)) for name, question in named.items()
            }
            self._awaited = sum((note.most for note in items.values()), self._awaited)
            self._replies.save_batch(Batch(id=batch, model=model.name, at=format_instant(self._clock()), items=items))
            replies |= dict.fromkeys(
                (question.key for question in questions),
                PendingReply(reason="submitted as part of a batch; a later run collects the reply"),
            )
        return replies

    def _collect_batches(self, model: Model) -> None:
        """Collect replies from the batches of earlier runs. Questions that a batch did not answer will be asked again."""
        if not isinstance(model, BatchModel):
            return
        for batch in self._replies.pending_batches(model.name):
            results = model.collect(batch.id)
            late = (self._clock() - parse_stored_instant(batch.at)).total_seconds() > _BATCH_HOURS * 3600
            if not isinstance(results, Mapping) and not late:
                continue
            for name, result in results.items() if isinstance(results, Mapping) else ():
                note = batch.items.get(name)
                if note is None or not isinstance(result, AdapterReply):
                    continue
                usage = add_usage_cost(result.usage, self._price, batched=True)
                self._record_usage(note.purpose, usage)
                content = read_adapter_reply(result, note.schema)
                if isinstance(content, InvalidReply):
                    self._replies.count_failure(note, content.fault.value, self._program)
                elif content is not None:
                    self._store_reply(note, content, usage)
            self._replies.drop_batch(batch.id)
