"""The attack-defence game, from a corpus to its tables (Gao et al., 2021)."""

from dialeval.protocols.att.external import external_attackers
from dialeval.protocols.att.players import build_players
from dialeval.protocols.att.settings import GAMES, METHODS, AttRun, game_config
from dialeval.protocols.att.study import AttStudy, play_att

__all__ = [
    "GAMES",
    "METHODS",
    "AttRun",
    "AttStudy",
    "build_players",
    "external_attackers",
    "game_config",
    "play_att",
]
