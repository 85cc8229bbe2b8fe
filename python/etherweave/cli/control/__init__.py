"""The verb ``control`` and its own verbs, one module each, imported when they are called."""

from etherweave.cli.verbs import Verb, group

control = group(
    __name__,
    "Bring a fabric to life: rules and configurations for switches, addresses for hosts.",
    {
        "dmp": Verb(
            "dmp.dmp",
            "Dynamic MAC Protocol, on a host: asks the switch for the hierarchical MAC address.",
        ),
        "agent": Verb(
            "agent.agent_verb",
            "Hear PAUSE and PFC at a switch's ports, and put its conditional rules inactive.",
        ),
        "diff": Verb(
            "diff.diff",
            "Tell what switches would be told to come from one plan to another; tell nobody.",
        ),
        "export": Verb(
            "export.export",
            "Write what switches and hosts must be told to lose nothing: PFC, ETS, ECN, buffers, "
            "maps.",
        ),
        "lint": Verb(
            "lint.lint",
            "Check that configurations would lose nothing: buffers, maps, weights, MTU, hosts.",
        ),
        "plan": Verb(
            "plan.plan_verb",
            "Make the OpenFlow rules of every switch and the addresses of every host; tell nobody.",
        ),
        "reaction": Verb(
            "reaction.reaction_verb",
            "Measure how long a switch of this machine takes to obey PAUSE frames.",
        ),
        "serve": Verb(
            "serve.serve", "Bring OpenFlow switches to a scenario's plan and keep them there."
        ),
        "verify": Verb(
            "verify.verify_verb",
            "Load the plan into real OpenFlow switches (Open vSwitch) and follow frames through "
            "them.",
        ),
    },
)
