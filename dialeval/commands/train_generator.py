"""`dialeval train-generator`: a generator from a corpus, with defaults that work."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dialeval.commands.console import out, say, say_warnings
from dialeval.commands.data.options import check_files
from dialeval.commands.settings import with_settings
from dialeval.settings.adversarial import LIKELIHOOD, NEEDS, OBJECTIVES, AdversarialConfig
from dialeval.settings.against import AgainstConfig
from dialeval.settings.training import GeneratorConfig, GeneratorRun

LLM = "llm:"
NO_REWARDS = {"objective": (LIKELIHOOD,)}
Config = Annotated[
    str,
    typer.Option(
        help="Name of a shipped config (default, tiny, li2017, bruni2017, backward, unconditional, "
        "paraphraser, vhred) or a YAML file of settings; options on the command line win."
    ),
]


@with_settings(
    "generator",
    needs={"adversarial": {"objective": OBJECTIVES[1:]}, **NEEDS, "against": NO_REWARDS},
    run=GeneratorRun,
    settings=GeneratorConfig,
    adversarial=AdversarialConfig,
    against=AgainstConfig,
)
def train_generator(
    run: GeneratorRun,
    settings: GeneratorConfig,
    adversarial: AdversarialConfig,
    against: AgainstConfig,
    config: Config = "default",
) -> None:
    """Train a generator and report its perplexity, with sample responses.

    With no options it trains a small GPT-2 from scratch on the embedded corpus, in under ten
    minutes on two cores. With --objective reinforce, regs-mc or regs-partial it is then trained on
    the scores of a discriminator that learns in turn to distinguish its replies from human ones.
    With --against it continues to train a generator on contexts that strategies perturb, such as
    --model DIR --against random-swap,add-negation.
    """
    if not run.column:
        check_files(run.data)
    if adversarial.uses_rewards:
        _train_with_rewards(run, settings, adversarial)
        return
    from dialeval.reports.training import TrainingProgress, generator_table
    from dialeval.training.generator import train_generator as train

    with TrainingProgress() as progress:
        results = train(run, settings, progress, against=against)
    out.print(generator_table(results))
    say_warnings(results.warnings)
    say(f"Saved to [bold]{run.output_dir}[/]; use it with: dialeval generate --model DIR")


def _train_with_rewards(
    run: GeneratorRun, settings: GeneratorConfig, adversarial: AdversarialConfig
) -> None:
    from dialeval.reports.adversarial import (
        AdversarialProgress,
        adversarial_table,
        write_adversarial_report,
    )
    from dialeval.training.adversarial_run import train_with_rewards

    with AdversarialProgress() as progress:
        reward = _llm_judge(adversarial.reward, run.output_dir, settings.seed)
        results = train_with_rewards(run, settings, adversarial, progress, reward)
    out.print(adversarial_table(results))
    say(f"Report: {write_adversarial_report(run.output_dir)}")
    say(f"Saved to [bold]{run.output_dir}[/]; use it with: dialeval generate --model DIR")


def _llm_judge(reward: str, folder: str, seed: int) -> Any:
    """The LLM of `llm:MODEL` as a judge; `None` for any other reward."""
    if not reward.startswith(LLM):
        return None
    from dialeval.commands.panel import make_asker
    from dialeval.protocols.llm_judge import JudgeReward, LlmJudge

    server = {"url": None, "model": None, "concurrency": 4, "key": "OPENAI_API_KEY"}
    asker = make_asker(reward.removeprefix(LLM), None, server, 5, 0, 1.0, seed)
    return JudgeReward(LlmJudge(asker, Path(folder) / "cache"))
