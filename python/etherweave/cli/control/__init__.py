"""The verb ``control`` and its own verbs, one module each, imported when they are called."""

from etherweave.cli.verbs import Verb, group

control = group(
    __name__,
    "Deploy a fabric: rules and configurations for switches, addresses for hosts.",
    {
        "dmp": Verb(
            "dmp.dmp",
            "Request a host's hierarchical MAC address from its switch (Dynamic MAC Protocol).",
        ),
        "agent": Verb(
            "agent.agent_verb",
            "Deactivate conditional rules of an OpenFlow switch while their ports are paused.",
        ),
        "diff": Verb(
            "diff.diff",
            "Print the differences between two plans, by switch; change nothing.",
        ),
        "export": Verb(
            "export.export",
            "Write configurations of switches and hosts for lossless traffic: PFC, ETS, ECN, "
            "buffers.",
        ),
        "lint": Verb(
            "lint.lint",
            "Check configurations for lost packets: buffers, maps, weights, MTU, hosts.",
        ),
        "plan": Verb(
            "plan.plan_verb",
            "Compute the OpenFlow rules of every switch and the addresses of every host.",
        ),
        "reaction": Verb(
            "reaction.reaction_verb",
            "Measure the reaction time of software switches to PAUSE frames.",
        ),
        "serve": Verb(
            "serve.serve", "Install a scenario's plan in OpenFlow switches and keep it installed."
        ),
        "verify": Verb(
            "verify.verify_verb",
            "Verify a plan by tracing frames through Open vSwitch.",
        ),
    },
)
