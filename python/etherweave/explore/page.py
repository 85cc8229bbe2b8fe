"""The page: an editor, sliders, and what a run gives. All texts are texts, none is markup."""

import asyncio
import base64
from collections.abc import Callable
from pathlib import Path

from nicegui import ui

from etherweave.api.scenario import ScenarioText
from etherweave.explore import figures
from etherweave.explore.changes import AS_WRITTEN, RATES, Changes, Controls
from etherweave.explore.session import Check, Session, Trial, examples
from etherweave.report import write_run

ANSWER_S = 10.0  # Longest wait for an answer of the browser [s].
PAUSE_S = 0.4  # Pause in typing after which the text is checked [s].
HERE = Path(__file__).parent / "templates"
COMPLETE = (HERE / "complete.js").read_text(encoding="utf-8")
STYLE = (HERE / "page.css").read_text(encoding="utf-8")
COLUMNS = [
    {"name": "name", "label": "", "field": "name", "align": "left"},
    *(
        {"name": name, "label": label, "field": name, "align": "right"}
        for name, label in (("now", "this run"), ("before", "last run"), ("change", "difference"))
    ),
]


class Page:
    """Widgets of one browser, about a session, which stays when the page is loaded again."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.check = Check(session.source)
        self._edits = 0
        self._done: float | None = 0.0
        self._width_px = figures.NARROW_PX  # Width of the browser's window [px].

    def build(self) -> None:
        """Place the widgets."""
        ui.add_css(STYLE)
        ui.colors(primary="#0072b2")
        # Until the browser is connected, what a user enters would be lost.
        self._main = ui.element("main").classes("page").props("inert")
        with self._main:
            with ui.element("section").classes("part"):
                self._place_files()
                self._place_editor()
            with ui.element("section").classes("part"):
                self._place_controls()
                self._place_results()
        self._show_trial()
        ui.timer(0, self._show_all, once=True)

    def _place_files(self) -> None:
        known, origin = examples(), self.session.source.origin
        ui.select(
            known,
            label="Example",
            value=origin if origin in known else None,
            on_change=lambda event: self._open(event.value),
        ).props("dense outlined")
        with ui.element("div").classes("row-of"):
            path = "" if origin == ScenarioText("").origin or origin in known else origin
            self.path = ui.input("File", value=path).props("dense outlined").classes("grows")
            ui.button("Open", on_click=lambda: self._open(self.path.value)).props("outline")
            ui.button("Save", on_click=self._save).props("outline")

    def _place_editor(self) -> None:
        self.editor = ui.codemirror(
            self.session.source.text,
            language="TOML",
            indent="  ",
            line_wrapping=True,
            on_change=self._edited,
        ).classes("editor")
        ui.run_javascript(COMPLETE.replace("EDITOR", str(self.editor.id)))
        self.mistakes = ui.element("ul").classes("mistakes").props("role=alert")

    def _place_controls(self) -> None:
        with ui.element("div").classes("controls"):
            self.rate = self._slider(0, len(RATES) - 1, RATES.index(self.session.changes.rate))
            self.rate_words = ui.label()
            self.uplinks = self._slider(1, 2, 1)
            self.uplink_words = ui.label()
        with ui.element("div").classes("row-of"):
            choices = ("transport", "flow_control", "routing")
            self.choices = {name: self._choice(name) for name in choices}
        with ui.element("div").classes("row-of"):
            self.run_button = ui.button("Run", on_click=self._run)
            self.stop_button = ui.button("Stop", on_click=self.session.stop).props("outline")
            self.stop_button.set_visibility(False)
            self.queues = ui.checkbox("queues over time: runs twice", value=True)
            self.estimate = ui.label().classes("quiet")
        self.progress = ui.linear_progress(0, show_value=False, size="6px")
        self.progress.set_visibility(False)
        self.ticks = ui.timer(0.2, self._tick, active=False)

    def _slider(self, low: int, high: int, value: int) -> ui.slider:
        return ui.slider(min=low, max=high, step=1, value=value, on_change=self._changed)

    def _choice(self, name: str) -> ui.select:
        value = getattr(self.session.changes, name)
        label = name.replace("_", " ")
        choice = ui.select([value], label=label, value=value, on_change=self._changed)
        return choice.props("dense outlined").classes("grows")

    def _place_results(self) -> None:
        self.trial = ui.label().classes("trial")
        self.table = ui.table(rows=[], columns=COLUMNS, row_key="name").props(
            "dense flat wrap-cells"
        )
        self.limits = ui.element("div").classes("limits")
        self.limit_picture = _Picture("What limits each job: its time by parts")
        self.fabric = _Picture("The fabric; links of a run by their load")
        self.busiest = ui.label().classes("quiet")
        self.queue_picture = _Picture("Queues over time")
        with ui.element("div").classes("row-of"):
            self.folder = ui.input("Directory of the report").props("dense outlined")
            self.folder.classes("grows")
            self.report_button = ui.button("Save result and report", on_click=self._save_report)
            self.report_button.props("outline")

    async def _open(self, name: str | None) -> None:
        if not name:
            return
        try:
            self.session.open(Path(name).expanduser())
        except OSError as error:
            ui.notify(str(error), type="negative")
            return
        self.editor.value = self.session.source.text
        self._reset_changes()
        self._show_trial()
        await self._checked()

    def _reset_changes(self) -> None:
        self.rate.value = RATES.index(1.0)
        for choice in self.choices.values():
            choice.value = AS_WRITTEN
        self.session.changes = Changes()

    async def _edited(self) -> None:
        self.session.edit(self.editor.value)
        self._edits += 1
        edit = self._edits
        await asyncio.sleep(PAUSE_S)
        if edit == self._edits:
            await self._checked()

    async def _changed(self) -> None:
        uplinks = self.check.controls.uplinks if self.check.controls else None
        is_moved = uplinks is not None and self.uplinks.value != uplinks.number
        self.session.changes = Changes(
            rate=RATES[int(self.rate.value)],
            uplinks=int(self.uplinks.value) if is_moved else None,
            **{name: choice.value for name, choice in self.choices.items()},
        )
        await self._checked()

    async def _checked(self) -> None:
        """Check the text and its changes; show mistakes, controls and the fabric."""
        check = await asyncio.to_thread(self.session.check)
        if check.source != self.session.source:  # Another text is checked, with its own lines.
            return
        self.check = check
        self._show_mistakes()
        self.run_button.set_enabled(not self.check.mistakes and self.check.estimate is not None)
        seconds = self.check.estimate["run_s"] if self.check.estimate else None
        self.estimate.text = f"about {seconds:.2g} s a run" if seconds and seconds > 1 else ""
        if self.check.controls is None:
            return
        self._show_controls(self.check.controls)
        await self._show_fabric()

    def _show_mistakes(self) -> None:
        mistakes = self.check.mistakes
        at_lines = {mistake.line: mistake.text for mistake in mistakes if mistake.line is not None}
        ends = _line_ends(self.check.source.text)
        decorations = [
            spec
            for line, text in at_lines.items()
            if line <= len(ends)
            for spec in (
                {"kind": "line", "line": line, "class": "mistake-line"},
                {"kind": "widget", "position": ends[line - 1], "text": text, "class": "mistake"},
            )
        ]
        # An update of the widget would send its text, and take back what is typed meanwhile.
        self.editor.run_method("setDecorations", decorations)
        self.mistakes.clear()
        with self.mistakes:
            for mistake in mistakes:
                place = "" if mistake.line is None else f"line {mistake.line}: "
                with ui.element("li"):
                    ui.label(f"{place}{mistake.text}")

    def _show_controls(self, controls: Controls) -> None:
        self.rate_words.text = f"Link rates {controls.rate_words(self.session.changes.rate)}"
        known = {
            "transport": controls.transports,
            "flow_control": controls.flow_controls,
            "routing": controls.routings,
        }
        for name, choice in self.choices.items():
            if choice.options != [AS_WRITTEN, *known[name]]:
                choice.set_options([AS_WRITTEN, *known[name]], value=choice.value)
        uplinks = controls.uplinks
        self.uplinks.set_enabled(uplinks is not None)
        if uplinks is None:
            self.uplink_words.text = f"{controls.family} has no number of uplinks to change"
            return
        number = self.session.changes.uplinks or uplinks.number
        self.uplinks.props["max"] = uplinks.number_max
        self.uplinks.value = min(number, uplinks.number_max)
        self.uplink_words.text = uplinks.words(number)

    @property
    def _overrides(self) -> dict[str, object]:
        controls = self.check.controls
        return controls.overrides(self.session.changes) if controls else {}

    async def _show_fabric(self) -> None:
        """Draw the fabric, with the loads of the last run where that was of this scenario."""
        check, source, overrides = self.check, self.check.source, self._overrides
        if check.mistakes:
            return
        last = self.session.trials[-1] if self.session.trials else None
        is_run = last is not None and (last.source, last.overrides) == (source, overrides)
        loads = figures.loads_of(last.result) if last and is_run else None
        picture = await asyncio.to_thread(figures.fabric_picture, source, overrides, loads)
        if check is not self.check:  # Checked again meanwhile, which draws too.
            return
        self.fabric.show(picture)
        links = figures.busiest(loads) if loads else []
        self.busiest.text = f"Busiest links: {', '.join(links)}" if links else ""

    async def _run(self) -> None:
        self._set_running(True)
        try:
            await asyncio.to_thread(
                self.session.run, self._overrides, self._report, has_queues=self.queues.value
            )
        except Exception as error:
            ui.notify(str(error), type="negative", multi_line=True)
            return
        finally:
            self._set_running(False)
        self._show_trial()
        await self._show_pictures()
        await self._show_fabric()

    def _set_running(self, is_running: bool) -> None:
        self._done = 0.0
        self.run_button.set_visibility(not is_running)
        self.stop_button.set_visibility(is_running)
        self.progress.set_visibility(is_running)
        self.ticks.active = is_running

    def _report(self, done: float | None) -> None:
        self._done = done

    def _tick(self) -> None:
        self.progress.value = self._done or 0.0
        self.progress.props["indeterminate"] = self._done is None

    def _show_trial(self) -> None:
        trials = self.session.trials
        for widget in (self.table, self.report_button, self.folder):
            widget.set_visibility(bool(trials))
        if not trials:
            self.limits.clear()
            for picture in (self.limit_picture, self.queue_picture):
                picture.show(None)
            self.trial.text = "Run the scenario to see completion times, queues and limits."
            return
        *before, trial = trials
        self.trial.text = _compared_words(trial, before[-1] if before else None)
        last = before[-1].result if before else None
        self.table.rows = [figure.cells() for figure in figures.compared(trial.result, last)]
        self.limits.clear()
        with self.limits:
            for text in figures.job_texts(trial.result):
                ui.label(text).classes("limit")

    async def _show_all(self) -> None:
        self._width_px = int(await ui.run_javascript("innerWidth", timeout=ANSWER_S))
        self._main.props(remove="inert")
        await self._checked()
        if self.session.trials:
            await self._show_pictures()

    async def _show_pictures(self) -> None:
        result = self.session.trials[-1].result
        width = self._width_px
        self.limit_picture.show(await asyncio.to_thread(figures.limit_picture, result, width))
        self.queue_picture.show(await asyncio.to_thread(figures.queue_picture, result, width))

    def _save(self) -> None:
        path = Path(self.path.value).expanduser()
        self._written(path, lambda: self.session.save(path, self._overrides))

    async def _save_report(self) -> None:
        folder, result = Path(self.folder.value).expanduser(), self.session.trials[-1].result

        def write() -> None:
            result.save(folder)
            write_run(result, folder)

        if not self.folder.value:
            ui.notify("Name a directory for the result.", type="warning")
            return
        self.report_button.set_enabled(False)
        error = await asyncio.to_thread(_error_of, write)
        self.report_button.set_enabled(True)
        _notify(folder / "report.html", error)

    def _written(self, path: Path, write: Callable[[], None]) -> None:
        if not self.path.value:
            ui.notify("Name a file for the scenario.", type="warning")
            return
        _notify(path, _error_of(write))


class _Picture:
    """A picture under its title, as wide as the screen; a click enlarges it, and it scrolls."""

    def __init__(self, title: str) -> None:
        with ui.element("figure").classes("picture") as self._figure:
            with ui.element("figcaption"):
                ui.label(title)
            self._words = ui.label()
            hint = ui.label("Tap the picture to enlarge it.").classes("hint quiet")
            with ui.element("div").classes("scrolls") as place:
                self._image = ui.element("img").props(f'alt="{title}"')
            self._image.on("click", lambda: place.classes(toggle="large"))
            hint.bind_visibility_from(self._image)
        self._figure.set_visibility(False)

    def show(self, content: bytes | str | None) -> None:
        """Show SVG, or words in its place; nothing where there is neither."""
        self._figure.set_visibility(content is not None)
        self._image.set_visibility(isinstance(content, bytes))
        self._words.text = content if isinstance(content, str) else ""
        if isinstance(content, bytes):
            # In an image no script of SVG runs.
            url = f"data:image/svg+xml;base64,{base64.b64encode(content).decode()}"
            self._image.props["src"] = url
            self._image.update()


def _compared_words(trial: Trial, before: Trial | None) -> str:
    if before is None:
        return f"This run: {trial.words}"
    return f"This run: {trial.words}. Last run: {before.words}"


def _line_ends(text: str) -> list[int]:
    ends, at = [], -1
    for line in text.split("\n"):
        at += len(line) + 1
        ends.append(at)
    return ends


def _error_of(write: Callable[[], None]) -> str:
    try:
        write()
    except (OSError, ValueError) as error:
        return str(error)
    return ""


def _notify(path: Path, error: str) -> None:
    ui.notify(error or f"Saved {path}", type="negative" if error else "positive")
