"""The terms that reports use, each in two sentences: what it is, its range and its direction.

A page links its column headers to these entries and prints those that it links to;
`docs/glossary.md` is generated from them.
"""

import re
from textwrap import wrap
from typing import NamedTuple


class GlossaryEntry(NamedTuple):
    """A term as it is printed, and its definition."""

    title: str
    text: str


GLOSSARY = {
    "adversuc": GlossaryEntry(
        "AdverSuc (adversarial success)",
        "The share of held-out responses, human and machine, that the evaluator classifies "
        "wrongly: 1 minus its accuracy (Li et al., 2017, sec. 4.1). From 0 (every response is "
        "recognised) to about .5 (a random guess); higher means that the system is harder to "
        "distinguish from human.",
    ),
    "accuracy": GlossaryEntry(
        "Accuracy",
        "The share of held-out responses that the evaluator classifies correctly as human or "
        "machine. From about .5 (a random guess) to 1; lower means that the system is harder to "
        "distinguish.",
    ),
    "ere": GlossaryEntry(
        "ERE (evaluator reliability error)",
        "The mean absolute deviation of AdverSuc from its known value in four scenarios: human "
        "against human and machine against machine (.5), human against random and against next "
        "turns (0) (Li et al., 2017, sec. 4.2). 0 is a perfect evaluator, .25 a random guess; "
        "lower is better. Without next turns it is a mean over three scenarios, marked 3, in "
        "which a random guess is .167 off.",
    ),
    "ere-transfer": GlossaryEntry(
        "ERE by transfer",
        "The same deviation for an evaluator that is applied as it is, instead of being retrained "
        "for each scenario. It is another quantity: not comparable with ERE; lower is better.",
    ),
    "noise-floor": GlossaryEntry(
        "Noise floor",
        "The ERE that a perfect evaluator would get by chance on as many responses that go "
        "together by dialogue as these do. From 0 upwards; an ERE close to it cannot be "
        "distinguished from a perfect one.",
    ),
    "human-vs-random": GlossaryEntry(
        "Human-vs-random (HvR)",
        "The accuracy with which the evaluator distinguishes human responses to their context "
        "from human responses drawn at random: the control that it reads the context. From about "
        ".5 (it does not) to 1; higher is better.",
    ),
    "machine-vs-random": GlossaryEntry(
        "Machine-vs-random",
        "The accuracy with which the same kind of evaluator distinguishes the system's responses "
        "from random human ones (Li et al., 2017, sec. 4.3). From about .5 to 1; low together "
        "with a high AdverSuc means that the responses look human but ignore the context.",
    ),
    "relevance": GlossaryEntry(
        "Relevance",
        "The mean score of the system's replies by an evaluator that was trained on human and "
        "random replies and never saw a machine: 0 is the mean of random replies, 1 that of human "
        "ones. Higher is better up to 1; above 1 a system sticks closer to the context than "
        "humans do, as one that repeats it.",
    ),
    "context-gain": GlossaryEntry(
        "Gain from reading the context",
        "Machine-vs-random with the context minus machine-vs-random by the same evaluator trained "
        "without any context. From about −.5 to .5; above 0, the responses depend on their "
        "context.",
    ),
    "response-only": GlossaryEntry(
        "Response only",
        "The same result by the evaluator's twin, which is trained and tested without any context. "
        "Same range and direction as the quantity itself; if both are equal, the response alone "
        "reveals as much.",
    ),
    "shuffled-context": GlossaryEntry(
        "Shuffled context",
        "The same result when each response is shown with the context of another one. Same range "
        "and direction as the quantity itself; the more they differ, the more the evaluator uses "
        "the context.",
    ),
    "length-matched": GlossaryEntry(
        "Length-matched",
        "The result among responses of similar length, so that length alone cannot explain it. "
        "Same range and direction as the quantity itself.",
    ),
    "saturation": GlossaryEntry(
        "Saturation",
        "Whether more training data would still improve the evaluator: it would if AdverSuc with "
        "half of the training data lies above the interval with all of it. Then AdverSuc is "
        "marked ≤: the system gets at most this much, and more training data would lower it.",
    ),
    "clustered-interval": GlossaryEntry(
        "Clustered interval",
        "A 95 % interval with the dialogue as the unit, because responses from one dialogue are "
        "not independent. Of a share it is Wilson's with the effective number of responses, of "
        "other numbers a bootstrap of dialogues; with few dialogues both are wider, by Student's "
        "t. That of AdverSuc also covers the training: the standard deviation over seeds is added "
        "to it; narrower is more precise.",
    ),
    "seed-spread": GlossaryEntry(
        "Seed spread",
        "The standard deviation of AdverSuc over evaluators trained with different seeds, which "
        "the interval includes. From 0 upwards; lower is more stable.",
    ),
    "p-value": GlossaryEntry(
        "p-value",
        "The probability of deciding at least this many pairs of a held-out half of the dialogues "
        "correctly if human and machine responses did not differ. From 0 to 1; the verdict "
        "corrects it for the number of evaluators (Holm): below .05 there is a difference.",
    ),
    "auroc": GlossaryEntry(
        "AUROC",
        "The probability that a human response scores higher than a machine response, ties "
        "counting one half; it needs no threshold. .5 is a random guess and 1 a perfect ranking; "
        "lower means that the system is harder to distinguish.",
    ),
    "pairwise-accuracy": GlossaryEntry(
        "Pairwise accuracy",
        "The share of contexts for which the human response scores higher than the machine "
        "response to the same context. From 0 to 1 with .5 for a random guess; not comparable "
        "with accuracy on single responses.",
    ),
    "false-positive-rate": GlossaryEntry(
        "False positive rate",
        "The share of human responses that the evaluator classifies as machine. From 0 to 1; "
        "lower is a better evaluator.",
    ),
    "false-negative-rate": GlossaryEntry(
        "False negative rate",
        "The share of machine responses that the evaluator classifies as human. From 0 to 1; "
        "higher means that the system is harder to distinguish.",
    ),
    "true-positive-rate": GlossaryEntry(
        "True positive rate at a false positive rate",
        "The share of machine responses detected by the threshold that misclassifies at most 5 % "
        "(or 1 %) of human ones. From 0 to 1; higher is a better evaluator.",
    ),
    "minimum-detectable-accuracy": GlossaryEntry(
        "Minimum detectable accuracy",
        "The lowest pairwise accuracy that this run would find significant with a probability of "
        "80 %. "
        "From .5 to 1; lower means that smaller differences can be detected.",
    ),
    "n": GlossaryEntry(
        "n",
        "The number of responses, human and machine, behind a number. More responses give a "
        "narrower interval.",
    ),
    "diversity": GlossaryEntry(
        "Diversity of responses",
        "Distinct-1 and distinct-2 are the shares of different words and word pairs, unique and "
        "most frequent those of different responses and of the most common one. From 0 to 1; "
        "compare with the human row.",
    ),
    "worst-attacker": GlossaryEntry(
        "Worst attacker",
        "The attacker on which a defender has its lowest pairwise accuracy. From 0 to 1; higher "
        "is a more robust defender.",
    ),
    "effect": GlossaryEntry(
        "Effect of a perturbation",
        "How much a system's responses change when its context is perturbed, over contexts that "
        "were edited. 0 is the same response, 1 a change as large as between responses to "
        "different contexts.",
    ),
    "margin": GlossaryEntry(
        "Margin",
        "The largest effect that still counts as no change. From 0 to 1; a system is stable only "
        "if the whole interval lies within it.",
    ),
    "coverage": GlossaryEntry(
        "Coverage",
        "The share of contexts in which a perturbation found something to edit. From 0 to 1; "
        "results cover only these contexts.",
    ),
    "unchanged": GlossaryEntry(
        "Unchanged",
        "The share of replies to edited contexts that are the same word for word as those to the "
        "original contexts. From 0 to 1; high is good only where the reply should not change.",
    ),
    "reference-quality": GlossaryEntry(
        "Quality against the reference",
        "BLEU, chrF, Activity F1 and Entity F1 compare replies with the human ones, from "
        "0 to 100; log p is the mean log-probability that the model gives to a token of the human "
        "reply, at most 0. Higher is better.",
    ),
    "similarity": GlossaryEntry(
        "Similarity",
        "The mean cosine between the vectors of original and perturbed contexts, or of the replies "
        "to them. From −1 to 1; 1 means the same text.",
    ),
    "score-change": GlossaryEntry(
        "Score change",
        "The mean of an evaluator's score after the perturbation minus before. Positive if the "
        "perturbed text looks more human to it; 0 means no change on average.",
    ),
    "over-sensitivity": GlossaryEntry(
        "Over-sensitivity",
        "The share of decisions that change although the perturbation keeps the meaning. From 0 "
        "to 1; lower is better.",
    ),
    "over-stability": GlossaryEntry(
        "Over-stability",
        "The share of decisions that stay the same although the perturbation changes the meaning. "
        "From 0 to 1; lower is better.",
    ),
    "fleiss-pi": GlossaryEntry(
        "Fleiss' pi",
        "Agreement among annotators beyond what the frequencies of the answers give by chance "
        "(Fleiss, 1971), also called Fleiss' kappa; of a discriminator it is agreement with the "
        "majority of the annotators. From below 0 through 0 (chance) to 1 (perfect); higher means "
        "that the answers can be reproduced.",
    ),
    "krippendorff-alpha": GlossaryEntry(
        "Krippendorff's alpha",
        "One minus observed over expected disagreement, for any number of answers per item; at the "
        "level ordinal, answers that are close on the scale disagree less (Krippendorff, 2011). "
        "From below 0 through 0 (chance) to 1 (perfect); higher is better.",
    ),
    "bradley-terry": GlossaryEntry(
        "Bradley-Terry strength",
        "Log-strength of a system in a model where the chance to be preferred depends on the "
        "difference of two strengths (Bradley and Terry, 1952); a tie is half a win. The mean over "
        "systems is 0; higher is better.",
    ),
    "sign-test": GlossaryEntry(
        "Sign test",
        "The chance of so unequal numbers of won and lost items if both systems were equally good; "
        "ties are left out. From 0 to 1; below .05 the preference counts as significant.",
    ),
    "williams-test": GlossaryEntry(
        "Williams' test",
        "Whether two metrics correlate equally with the same ratings, given how they correlate "
        "with each other (Williams, 1959). The statistic t is positive where the first metric "
        "correlates more; a p-value below .05 counts as significant.",
    ),
    "log-odds": GlossaryEntry(
        "Log-odds with an informative prior",
        "How much more frequent a word is on one side, shrunk by its frequency on both sides "
        "together, so that rare words do not come out on top (Monroe et al., 2008). Positive: "
        "typical of human; 0 means equally frequent.",
    ),
}  # fmt: skip


def glossary_link(term: str) -> str:
    """The link to an entry within a page.

    Examples:
        >>> glossary_link("adversuc")
        '#glossary-adversuc'
    """
    if term not in GLOSSARY:
        raise ValueError(f"Unknown term {term!r}. Choose from {', '.join(GLOSSARY)}.")
    return f"#glossary-{term}"


def linked_entries(page: str) -> list[tuple[str, GlossaryEntry]]:
    """The entries that a page links to, in the order of the glossary.

    Examples:
        >>> [term for term, _ in linked_entries('<a href="#glossary-ere">ERE</a>')]
        ['ere']
    """
    terms = set(re.findall(r'href="#glossary-([a-z0-9-]+)"', page))
    return [(term, entry) for term, entry in GLOSSARY.items() if term in terms]


def glossary_markdown() -> str:
    """The page `docs/glossary.md`: every entry under an anchor with the name of its term."""
    lines = ["# Glossary", "", "The terms of the tables, each with its range and direction.", ""]
    for term, entry in GLOSSARY.items():
        lines += [f"## {entry.title} {{#{term}}}", "", *wrap(entry.text, 100), ""]
    return "\n".join(lines)
