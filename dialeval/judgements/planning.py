"""How many judgements would settle a question: sample sizes from what was observed so far."""

import math

from scipy.stats import binom, norm


def judgements_for_share(
    share: float, chance: float = 0.5, *, power: float = 0.8, alpha: float = 0.05
) -> int | None:
    """Independent judgements at which a share is found to differ from chance.

    The smallest number, from that of the normal approximation (Fleiss, 1981, sec. 2.2) on, at which
    the exact two-sided binomial test has the power: the exact test needs a few more.

    Args:
        share (`float`):
            The share that is expected, such as the accuracy of people so far.
        chance (`float`, *optional*, defaults to 0.5):
            The share to distinguish it from.
        power (`float`, *optional*, defaults to 0.8):
            Chance of finding the difference.
        alpha (`float`, *optional*, defaults to 0.05):
            Level of the test.

    Returns:
        `int` or `None`: The number; `None` where the share is chance itself.

    Examples:
        >>> judgements_for_share(0.6), judgements_for_share(0.5)
        (199, None)
    """
    gap = abs(share - chance)
    if gap == 0:
        return None
    under_chance = norm.ppf(1 - alpha / 2) * math.sqrt(chance * (1 - chance))
    under_share = norm.ppf(power) * math.sqrt(share * (1 - share))
    n = math.ceil(((under_chance + under_share) / gap) ** 2)
    while _exact_power(n, share, chance, alpha) < power:
        n += max(1, n // 100)
    return n


def _exact_power(n: int, share: float, chance: float, alpha: float) -> float:
    """Chance that the exact binomial test of `n` judgements is significant."""
    low = binom.ppf(alpha / 2, n, chance)
    low -= binom.cdf(low, n, chance) > alpha / 2
    high = binom.isf(alpha / 2, n, chance) + 1
    return float(binom.cdf(low, n, share) + binom.sf(high - 1, n, share))


def judgements_for_preference(
    wins: int, losses: int, ties: int = 0, *, power: float = 0.8, alpha: float = 0.05
) -> int | None:
    """Items at which a sign test finds the preference that was observed so far.

    Args:
        wins, losses, ties (`int`):
            Items that were won, lost and tied.
        power, alpha (`float`, *optional*):
            As in [`judgements_for_share`].

    Returns:
        `int` or `None`: Items in all, ties included; `None` where there is no preference at all.

    Examples:
        >>> judgements_for_preference(60, 40), judgements_for_preference(60, 40, 100)
        (199, 398)
    """
    decided = wins + losses
    if decided == 0:
        return None
    needed = judgements_for_share(wins / decided, power=power, alpha=alpha)
    return None if needed is None else math.ceil(needed * (decided + ties) / decided)


def items_for_difference(
    mean: float, deviation: float, *, power: float = 0.8, alpha: float = 0.05
) -> int | None:
    """Items at which a paired difference of ratings is found to differ from 0.

    Args:
        mean, deviation (`float`):
            Mean and standard deviation of the differences over items.
        power, alpha (`float`, *optional*):
            As in [`judgements_for_share`].

    Returns:
        `int` or `None`: The number of items; `None` where the mean is 0.

    Examples:
        >>> items_for_difference(0.2, 1.0)
        197
    """
    if mean == 0 or not math.isfinite(mean):
        return None
    z = norm.ppf(1 - alpha / 2) + norm.ppf(power)
    return max(2, math.ceil((z * deviation / mean) ** 2))
