"""Policy maps of Arista EOS: what they do with frames of a code point, whatever the port trusts.

Class maps that match DSCP or 802.1p are read; those that match access lists or VLANs are named as
unread where their policy sets or polices something, since lossless frames may be among them.
"""

from dataclasses import dataclass, field

from etherweave.control.lint import port_settings

REST = "class-default"  # The class of frames that no other class matches.


@dataclass(slots=True)
class PolicyMaps:
    """Class maps and policy maps, line by line."""

    matches: dict[str, port_settings.Settings] = field(default_factory=dict)
    """Matches ``dscp N`` and ``pcp N``, by class."""
    unread: set[str] = field(default_factory=set)  # Classes with other matches.
    actions: dict[str, dict[str, port_settings.Settings]] = field(default_factory=dict)
    """Actions by policy and class, in order: ``class``, ``remark`` and ``police``."""
    _class: str = ""
    _policy: str = ""
    _within: str = ""

    def leave(self) -> None:
        """Leave the mode of a map."""
        self._class = self._policy = self._within = ""

    def line(self, words: list[str], switch: port_settings.SwitchSettings) -> bool:
        """Read a command that begins a map, or belongs to it."""
        match words:
            case ["class-map", *kind, "match-any" | "match-all", name] if kind in _QOS:
                self.leave()
                self._class = name
                self.matches.setdefault(name, {})
                switch.define("class", name)
            case ["policy-map", *kind, name] if kind in _QOS:
                self.leave()
                self._policy = name
                self.actions.setdefault(name, {})
                switch.define("service-policy", name)
            case ["class", name, *_] if self._policy:
                self._within = name
                self.actions[self._policy].setdefault(name, {})
                switch.refer("class", name)
            case ["match", *rest] if self._class:
                self._match(rest)
            case [verb, *rest] if self._within and verb in ("set", "police"):
                self.actions[self._policy][self._within] |= _action(verb, rest)
            case _:
                return bool(self._class or self._policy) and words[0] in ("no", "exit", "count")
        return True

    def _match(self, words: list[str]) -> None:
        own = self.matches[self._class]
        match words:
            case ["dscp", listed]:
                own |= {("dscp", number): "on" for number in _numbers(listed, 63)}
            case ["cos", listed]:
                own |= {("pcp", number): "on" for number in _numbers(listed, 7)}
            case _:
                self.unread.add(self._class)

    def of(self, policy: str) -> tuple[port_settings.Settings, list[str]]:
        """Return the settings of a port with a policy, and its classes that are not read."""
        settings: port_settings.Settings = {}
        seen: set[tuple[str, ...]] = set()
        left = []
        for name, actions in self.actions.get(policy, {}).items():
            every = {(kind, str(number)) for kind, count in _ALL for number in range(count)}
            matched = every if name == REST else set(self.matches.get(name, {}))
            for kind, number in sorted(matched - seen):
                settings |= {(f"{what} {kind}", number): text for (what,), text in actions.items()}
            seen |= matched
            if actions and name in self.unread:
                left.append(name)
        return settings, left


_QOS: tuple[list[str], ...] = ([], ["type", "qos"], ["type", "quality-of-service"])
_ALL = (("dscp", 64), ("pcp", len(port_settings.EIGHT)))


def _action(verb: str, words: list[str]) -> port_settings.Settings:
    match [verb, *words]:
        case ["set", "traffic-class", number]:
            return {("class",): port_settings.priority(number)}
        case ["set", "dscp", number]:
            return {("remark",): _numbers(number, 63)[0]}
        case ["police", *rest] if rest:
            return {("police",): " ".join(rest)[:40]}
    return {}


def _numbers(text: str, most: int) -> list[str]:
    return port_settings.listed(text, most, port_settings.NAMED)
