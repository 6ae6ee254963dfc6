"""The result of an audit in a sentence, for each kind of known samples."""

from dialeval.metrics.audit_results import AT_MOST, KNOWN_ONLY, SHARE, stated_share
from dialeval.metrics.results import Result


def result_text(kind: str, result: Result, level: float) -> str:
    """The result in a sentence.

    Args:
        kind (`str`):
            `SHARE`, `KNOWN_ONLY`, `AT_MOST` or `UNLIKE`.
        result (`Result`):
            The number with its interval.
        level (`float`):
            Confidence level.

    Returns:
        `str`: Plain text.
    """
    numbers = f"{result.value:.1%} [{result.low:.1%}, {result.high:.1%}]"
    bound = f"{stated_share(kind, result, 3):.1%}"
    of = f"of the {result.n:,} replies in {int(result.details['dialogues']):,} dialogues"
    if kind == SHARE:
        none = (
            " The interval reaches 0: nothing shows that there are any." if not result.low else ""
        )
        return (
            f"{numbers} {of} are machine-written ({level:.0%} interval), if the data's humans "
            f"write like the reference and its machines like the machine file.{none}"
        )
    if kind == KNOWN_ONLY:
        return (
            "No share of machine-written replies can be given: the data are not a mixture of the "
            f"reference and the machine file. {numbers} {of} look like the machine file "
            f"({level:.0%} interval); the share that other machines wrote is not known. Give "
            "replies of every machine that may be in the data, and a reference from the same "
            "source."
        )
    if kind == AT_MOST:
        return (
            f"At most {bound} {of} can be like the machine file (bound {numbers}). "
            "Without a human reference this is no estimate: humans who write like the machines "
            "count as such. It says nothing about other machines."
        )
    return (
        f"At least {bound} {of} are unlike the reference (bound {numbers}). Without "
        "machine replies nothing shows why: another topic, other people or machines."
    )
