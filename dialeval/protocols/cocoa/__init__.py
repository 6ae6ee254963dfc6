"""Two agents who must find their mutual friend (He et al., 2017; Niu and Bansal, 2018)."""

from dialeval.protocols.cocoa.environment import Act, Dialogue, play
from dialeval.protocols.cocoa.scenarios import Scenario, Schema, load_schema, make_scenarios
from dialeval.protocols.cocoa.study import cocoa

__all__ = [
    "Act",
    "Dialogue",
    "Scenario",
    "Schema",
    "cocoa",
    "load_schema",
    "make_scenarios",
    "play",
]
