"""The study: agents with themselves, under every channel (Niu and Bansal, 2018, Table 8)."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from accelerate import Accelerator
from accelerate.utils import set_seed

from dialeval.dialogues import BadInput
from dialeval.files import atomic_write
from dialeval.metrics.cocoa_results import (
    NORMAL,
    CocoaExample,
    CocoaResults,
    CocoaVerdict,
    attention_verdict,
)
from dialeval.metrics.intervals import interval
from dialeval.metrics.paired import paired_bootstrap
from dialeval.metrics.results import RESULTS, Result, plain, signature, versions
from dialeval.metrics.training_results import StepProgress
from dialeval.protocols.cocoa.agents import (
    MakeAgent,
    ResponderAgent,
    act_in_batch,
    rule_agents,
)
from dialeval.protocols.cocoa.channels import make_channel
from dialeval.protocols.cocoa.chats import read_chats
from dialeval.protocols.cocoa.environment import (
    Act,
    Agent,
    Channel,
    Dialogue,
    moves,
    play,
    play_together,
)
from dialeval.protocols.cocoa.neural import (
    NeuralAgent,
    NeuralPolicy,
    act_together,
    examples_of,
    make_policy,
    neural_agents,
)
from dialeval.protocols.cocoa.scenarios import Scenario, Schema, load_schema, make_scenarios
from dialeval.run_folder import RunFolder
from dialeval.settings.cocoa import CocoaRun
from dialeval.training.graph_agent import GraphAgentTrainer

RUN, REPORT = "run.json", "report.html"
_FILES = ("neural", "dialogues", RUN, RESULTS, REPORT)
_KNOWN = ("rule", "entities", "neural")
_TRAINING, _VALIDATION = 10_000, 20_000
"""What the seeds of scenarios to train and to validate on are away from that of test scenarios."""
OnProgress = Callable[[str, StepProgress | None], Any]


def cocoa(
    run: CocoaRun,
    on_progress: OnProgress = lambda _, __: None,
    models: Mapping[str, MakeAgent] | None = None,
) -> CocoaResults:
    """Let agents look for their mutual friend, and disturb what they hear.

    Every set of dialogues is written to the run's folder, so that a run that was stopped resumes.

    Args:
        run (`CocoaRun`):
            Agents, scenarios and channels.
        on_progress (`Callable`, *optional*):
            Called with what begins, and with the progress of the neural agent's training.
        models (`Mapping[str, Callable]`, *optional*):
            More agents by name, in place of models that are named in the run.

    Returns:
        `CocoaResults`: Everything that was written to `results.json`.
    """
    settings = plain(asdict(run))
    folder = RunFolder(run.output_dir, RUN)
    with folder.lock():
        if folder.check(settings, _difference, overwrite=run.overwrite):
            folder.remove(_FILES)
        folder.write_json(RUN, settings)
        return _Study(run, on_progress, dict(models or {}), settings).results()


@dataclass
class _Study:
    """All stages, in a folder that belongs to this run."""

    run: CocoaRun
    on_progress: OnProgress
    models: dict[str, MakeAgent]
    settings: dict[str, Any]
    collected: list[Result] = field(default_factory=list)
    examples: list[CocoaExample] = field(default_factory=list)
    verdicts: list[CocoaVerdict] = field(default_factory=list)

    def results(self) -> CocoaResults:
        """Play and measure every agent under every channel."""
        run = self.run
        self.schema = load_schema(run.schema)
        self.scenarios = self._make_scenarios(run.scenarios, run.seed)
        self.signature = signature(
            cocoa="+".join(run.agents), scenarios=run.scenarios, items=run.items,
            attributes=run.attributes, turns=run.max_turns, side=run.side,
            self_play=run.self_play, chats=len(run.chats), seed=run.seed, v=versions()["dialeval"],
        )  # fmt: skip
        for name in run.agents:
            self._agent(name)
        results = CocoaResults(
            results=tuple(self.collected),
            agents=tuple(run.agents),
            channels=tuple(run.channels),
            verdicts=tuple(self.verdicts),
            examples=tuple(self.examples),
            settings=self.settings,
            signature=self.signature,
        )
        results.save(run.output_dir)
        return results

    def _agent(self, name: str) -> None:
        """One agent, with itself, under every channel."""
        scenarios = self.scenarios
        if name not in _KNOWN:
            scenarios = scenarios[: self.run.model_scenarios]
        tables: dict[str, list[dict[str, Any]]] = {}
        for channel in self.run.channels:
            self.on_progress(f"{name}, {channel}", None)
            tables[channel] = self._dialogues(name, channel, scenarios)
            self.examples.append(_example(name, channel, tables[channel][0]))
        for channel, rows in tables.items():
            self._add(name, channel, rows, tables.get(NORMAL))
        self._add_verdict(name)

    def _make(self, name: str) -> MakeAgent:
        """Makes an agent of this name; a model is loaded only when it has to play."""
        if name in self.models:
            return self.models[name]
        if name in ("rule", "entities"):
            return rule_agents(self.schema, words=name == "rule")
        if name == "neural":
            return neural_agents(self._policy(), self.run.temperature)
        from dialeval.responders.registry import load_responder

        responder = load_responder(name, max_new_tokens=self.run.model_tokens)
        return lambda scenario, side, seed: ResponderAgent(scenario, side, responder)

    def _policy(self) -> NeuralPolicy:
        """The neural agent: trained on dialogues of the rule-based one and of people, or loaded."""
        run, folder = self.run, Path(self.run.output_dir) / "neural"
        if folder.is_dir():
            return NeuralPolicy.load(folder)
        self.on_progress("neural, self-play of the rule-based agent", None)
        seed = run.seed + _TRAINING
        scenarios = self._make_scenarios(run.self_play, seed)
        rule = rule_agents(self.schema)
        dialogues = [
            play(scenario, _pair(rule, scenario, seed), max_turns=run.max_turns, seed=seed)
            for scenario in scenarios
        ]
        solved = [dialogue for dialogue in dialogues if dialogue.complete]
        if not solved:
            hint = "Raise --max_turns, or lower --items."
            raise BadInput("no dialogue of self-play found the friend.", hint=hint)
        schema = self.schema
        if run.chats:
            chats = read_chats(run.chats, schema.attributes)
            schema = Schema({**schema.values, **chats.schema.values})
            solved = [*chats.dialogues, *solved]
        set_seed(run.seed)
        policy = make_policy(solved, schema, run.hidden_size, run.rounds)
        trainer = GraphAgentTrainer(
            policy.model, list(examples_of(policy, solved)), run.epochs, run.batch_size,
            run.learning_rate, run.seed, Accelerator(), self._completion_rate_of(policy),
        )  # fmt: skip
        for progress in trainer.train():
            self.on_progress("neural, training", progress)
        policy.model.cpu()
        policy.save(folder)
        return policy

    def _make_scenarios(self, count: int, seed: int) -> list[Scenario]:
        return make_scenarios(self.schema, count, self.run.items, self.run.attributes, seed)

    def _completion_rate_of(self, policy: NeuralPolicy) -> Callable[[], float] | None:
        """What a policy completes of scenarios that are neither trained on nor tested."""
        run = self.run
        if not run.validation_scenarios:
            return None
        scenarios = self._make_scenarios(run.validation_scenarios, run.seed + _VALIDATION)
        make = neural_agents(policy, run.temperature)

        def completion_rate() -> float:
            dialogues = self._played(make, scenarios, make_channel(NORMAL))
            return float(np.mean([dialogue.complete for dialogue in dialogues]))

        return completion_rate

    def _dialogues(
        self, name: str, channel: str, scenarios: Sequence[Scenario]
    ) -> list[dict[str, Any]]:
        """Facts about every dialogue, from a file if an earlier run wrote it."""
        file = "".join(char if char.isalnum() or char in "-_" else "-" for char in name)
        path = Path(self.run.output_dir) / "dialogues" / f"{file}.{channel}.jsonl"
        rows = _read_lines(path)
        if len(rows) != len(scenarios):  # none yet, or of another number of scenarios
            change = make_channel(channel, self.run.side)
            make = self.models.setdefault(name, self._make(name))
            with atomic_write(path) as target:
                for dialogue in self._played(make, scenarios, change):
                    target.write(json.dumps(_facts(dialogue), ensure_ascii=False) + "\n")
            rows = _read_lines(path)
        return rows

    def _played(
        self, make: MakeAgent, scenarios: Sequence[Scenario], change: Channel
    ) -> Iterator[Dialogue]:
        """The dialogues of all scenarios, played side by side."""
        pairs = [_pair(make, scenario, self.run.seed) for scenario in scenarios]
        games = [
            moves(scenario, pair, change, self.run.max_turns, self.run.seed)
            for scenario, pair in zip(scenarios, pairs, strict=True)
        ]
        yield from play_together(games, _act_together)

    def _add(
        self,
        name: str,
        channel: str,
        rows: Sequence[Mapping[str, Any]],
        normal: Sequence[Mapping[str, Any]] | None,
    ) -> None:
        """Completion rate, turns and selections of an agent under a channel."""
        for metric, key in METRICS.items():
            values = np.array([row[key] for row in rows], dtype=float)
            low, high = interval(values, resamples=self.run.resamples, seed=self.run.seed)
            details: dict[str, Any] = {"channel": channel}
            if normal is not None and channel != NORMAL:
                before = np.array([row[key] for row in normal], dtype=float)
                test = paired_bootstrap(
                    values, before, resamples=self.run.resamples, seed=self.run.seed
                )
                details |= {"difference": test["difference"], "p": test["p"]}
            self.collected.append(
                Result(
                    metric, name, "", float(values.mean()), low, high, len(values),
                    self.signature, details,
                )
            )  # fmt: skip

    def _add_verdict(self, name: str) -> None:
        rows = {
            row.details["channel"]: row
            for row in self.collected
            if row.system == name and row.metric == "completion_rate"
        }
        changed = [rows.get(key) for key in ("random-inputs-kept-entities", "random-inputs")]
        cells = [row for row in changed if row is not None and row.details.get("p") is not None]
        if len(cells) == len(changed) and NORMAL in rows:
            kept, random = cells
            rate = rows[NORMAL].value
            verdict = attention_verdict(
                name, kept.details["p"], random.details["p"], rate - kept.low, rate - random.low,
                normal_rate=rate,
            )  # fmt: skip
            self.verdicts.append(verdict)


def _act_together(agents: Sequence[Agent]) -> Sequence[Act]:
    """Actions of agents of one kind; models answer in batches."""
    for kind, act in ((ResponderAgent, act_in_batch), (NeuralAgent, act_together)):
        if all(isinstance(agent, kind) for agent in agents):
            return act(cast(Any, agents))
    return [agent.act() for agent in agents]


METRICS = {"completion_rate": "complete", "turns": "turns", "selections": "selections"}


def _pair(make: MakeAgent, scenario: Scenario, seed: int) -> list[Agent]:
    return [cast(Agent, make(scenario, side, seed)) for side in (0, 1)]


def _read_lines(path: Path) -> list[dict[str, Any]]:
    """The records of a file of JSON lines; none if there is no such file."""
    text = path.read_text("utf-8") if path.is_file() else ""
    # Not splitlines: what an agent says may have other line separators in it.
    return [json.loads(line) for line in text.split("\n") if line]


def _facts(dialogue: Dialogue) -> dict[str, Any]:
    lines = [
        [f"{'AB'[speaker]}", f"SELECT {', '.join(act.item)}" if act.item else act.text, heard]
        for speaker, act, heard in dialogue.acts
    ]
    return {
        "scenario": dialogue.scenario.id, "complete": dialogue.complete, "turns": dialogue.turns,
        "selections": dialogue.selections, "lines": lines,
    }  # fmt: skip


def _example(name: str, channel: str, row: Mapping[str, Any]) -> CocoaExample:
    lines = tuple(tuple(line) for line in row["lines"][:12])
    return CocoaExample(name, channel, row["scenario"], bool(row["complete"]), lines)


_FREE = ("output_dir", "overwrite", "resamples", "agents", "channels", "model_scenarios")


def _difference(previous: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    for name, value in settings.items():
        if name not in _FREE and previous.get(name) != value:
            return f"it had {name} {previous.get(name)!r}"
    return ""
