// Draws the values of figures with plotly.js, beside their pictures: hover, zoom, filter, a slider over time.
"use strict";
const isDark = matchMedia("(prefers-color-scheme: dark)");
const isNarrow = matchMedia("(max-width: 600px)");
const ROWS_MAX = 24;
const LEGEND_ROW = 29;
const GAP = 64;
const MARGIN = { l: 60, r: 20, t: 64, b: 50 };
const BUTTONS = [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]];
const text = (value) => (value === null || value === undefined ? "–" : Number(value.toPrecision(5)).toLocaleString("en"));
const shade = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function make(kind, words = {}, ...inside) {
  const { label, ...plain } = words;
  const made = Object.assign(document.createElement(kind), plain);
  if (label) made.setAttribute("aria-label", label);
  made.append(...inside);
  return made;
}

// Black is drawn in the page's colour of text, which is light on dark.
function ink(colour) {
  return ["#000000", "#111111", "#222222"].includes(colour) ? shade("--text") : colour;
}

// Names that a filter can choose: of series, or of rows of maps.
function namesOf(panels) {
  const names = panels.flatMap((panel) => panel.series.flatMap((one) => one.names ?? (one.name ? [one.name] : [])));
  return [...new Set(names)];
}

// The label of the colour scale that maps of one range share.
function scaleOf(one, panels) {
  const alike = panels.flatMap((panel) => panel.series).filter((other) => other.kind === "map" && `${other.range}` === `${one.range}`);
  return alike.find((other) => other.scale)?.scale ?? "";
}

function chosenRows(one, wanted) {
  return one.names.map((_, row) => row).filter((row) => one.names[row].toLowerCase().includes(wanted));
}

// Of about eight ticks at whole numbers.
function wholeStep([low, high]) {
  const least = Math.abs(high - low) / 8;
  const power = 10 ** Math.max(0, Math.floor(Math.log10(least)));
  return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
}

// Plain numbers at 1, 2 and 5 of each power of ten, of wide ranges at the powers; some more for those who zoom out.
function logTicks([low, high]) {
  const powers = [];
  for (let power = Math.floor(Math.log10(low)) - 2; power <= Math.log10(high) + 2; power += 1) powers.push(10 ** power);
  const tickvals = powers.flatMap((power) => (high / low < 1000 ? [power, 2 * power, 5 * power] : [power]));
  return { tickmode: "array", tickvals, ticktext: tickvals.map(text) };
}

function ticksOf(axis) {
  if (axis.log && !axis.ticks) return logTicks(axis.range);
  if (axis.ticks) return { tickmode: "array", tickvals: axis.ticks[0], ticktext: axis.ticks[1] };
  return axis.whole ? { tickmode: "linear", tick0: 0, dtick: wholeStep(axis.range) } : {};
}

// Axis with the names of the first panel, where they stand beside that alone and panels are below each other.
function namedAxis(axis, first) {
  const isNamed = !isNarrow.matches || !axis.ticks || axis.ticks[1].some((name) => name !== "");
  return isNamed ? axis : { ...axis, ticks: first.ticks };
}

function axisOf(axis, place, other, domain) {
  const ends = axis.log ? axis.range.map(Math.log10) : axis.range;
  return {
    title: { text: axis.label, standoff: 6 }, type: axis.log ? "log" : "linear", range: ends, domain,
    anchor: other, automargin: true, gridcolor: shade("--rule"), zeroline: false, linecolor: shade("--faint"), ...ticksOf(axis),
  };
}

// Traces of plotly of one series; a map keeps the rows that the filter chooses.
function traces(one, at, wanted, isFirst) {
  const common = { xaxis: at.x, yaxis: at.y, name: one.name, legendgroup: one.name, showlegend: isFirst && one.name !== "" };
  if (one.kind === "map") {
    const rows = chosenRows(one, wanted);
    return [{
      ...common, type: "heatmap", x: one.x, y: rows.map((row) => one.names[row]), z: rows.map((row) => one.z[row]),
      zmin: one.range[0], zmax: one.range[1], colorscale: "Cividis", hoverongaps: false, showscale: isFirst,
      customdata: rows.map(() => one.columns), hovertemplate: "%{y}<br>%{customdata}: %{z}<extra></extra>",
      colorbar: { title: { text: at.scale, side: "right" }, thickness: 10, x: 1, y: (at.domain.y[0] + at.domain.y[1]) / 2, len: at.domain.y[1] - at.domain.y[0] },
    }];
  }
  if (one.name !== "" && !one.name.toLowerCase().includes(wanted)) return [];
  const [across, along] = one.upright ? ["x", "y"] : ["y", "x"];
  if (one.kind === "bar") {
    return [{
      ...common, type: "bar", orientation: one.upright ? "v" : "h", [across]: one.at, [along]: one.length,
      base: one.base, width: one.width, marker: { color: one.colours.map(ink) },
    }];
  }
  return [{
    ...common, type: "scatter", mode: one.mode, x: one.x, y: one.y, connectgaps: false,
    fill: one.area ? "toself" : "none", fillcolor: ink(one.colour), opacity: one.opacity ?? 1,
    line: { color: ink(one.colour), width: one.width ?? 1.5, shape: one.step ? "hv" : "linear", dash: one.dash ?? "solid" }, marker: { color: ink(one.colour), size: 5 },
  }];
}

function rules(panel, x, y) {
  return panel.series.filter((one) => one.kind === "rule").map((one) => {
    const at = one.at[0];
    const ends = one.upright
      ? { x0: at, x1: at, y0: 0, y1: 1, xref: x, yref: `${y} domain` }
      : { x0: 0, x1: 1, y0: at, y1: at, xref: `${x} domain`, yref: y };
    return { type: "line", ...ends, line: { color: ink(one.colour), width: 1, dash: one.dash } };
  });
}

// Panels in their grid, with their shares of the height and width; on a narrow screen one below the other.
function grid(panels, wanted) {
  const steps = (kind) => [...new Set(panels.map((panel) => panel[kind]))].sort((a, b) => a - b);
  const [rows, columns] = [steps("row"), steps("column")];
  const places = panels.map((panel, place) => (isNarrow.matches ? [place, 0] : [rows.indexOf(panel.row), columns.indexOf(panel.column)]));
  const many = Math.max(...places.map(([, column]) => column)) + 1;
  const heights = [];
  panels.forEach((panel, place) => { heights[places[place][0]] = Math.max(heights[places[place][0]] ?? 0, heightOf(panel, wanted)); });
  const whole = heights.reduce((sum, height) => sum + height + GAP, -GAP);
  const below = (row) => heights.slice(0, row).reduce((sum, height) => sum + height + GAP, 0);
  const domains = places.map(([row, column]) => ({
    x: [column / many + (column ? 0.06 : 0), (column + 1) / many - (column < many - 1 ? 0.06 : 0)],
    y: [Math.max(1 - (below(row) + heights[row]) / whole, 0), 1 - below(row) / whole],
  }));
  return { domains, whole };
}

// Height that a legend takes beyond its first row: on a narrow screen, names stand below each other.
function legendHeight(panels, width) {
  const names = new Set(panels.flatMap((panel) => panel.series.flatMap((one) => (one.kind === "map" || one.kind === "rule" ? [] : [one.name]))));
  let [rows, left] = [0, 0];
  for (const name of [...names].filter(Boolean)) {
    const own = 45 + 6.5 * name.length;
    [rows, left] = own > left ? [rows + 1, width - own] : [rows, left - own];
  }
  return Math.max(rows - 1, 0) * LEGEND_ROW;
}

function heightOf(panel, wanted) {
  const rows = panel.series.filter((one) => one.kind === "map").map((one) => chosenRows(one, wanted).length);
  return rows.length ? Math.min(Math.max(...rows, 6), 40) * 12 : Math.max(panel.height, 120);
}

class Interactive {
  constructor(figure) {
    this.figure = figure;
    this.picture = figure.querySelector("img");
    const { panels, has_time: hasTime, legend } = JSON.parse(figure.querySelector("script").textContent);
    this.panels = panels;
    this.legend = legend;
    this.wanted = "";
    this.title = this.picture.alt;
    this.names = namesOf(panels);
    this.times = hasTime ? this.timesOf() : [];
    this.plot = make("div", { className: "plot", tabIndex: 0 });
    this.plot.setAttribute("role", "img");
    this.table = make("div", { className: "wide" });
    this.box = make("div", { className: "interactive" }, this.controls(), this.plot, this.table);
    figure.insertBefore(this.box, this.picture);
    this.plot.addEventListener("keydown", (event) => this.press(event));
    this.show(true);
    this.plot.on("plotly_relayout", () => this.keepWhole());
  }

  // Ticks at whole numbers, closer to each other as a reader zooms.
  keepWhole() {
    const { layout } = this.plot;
    const axes = Object.keys(layout).filter((name) => /^[xy]axis/.test(name) && layout[name].tickmode === "linear");
    const changed = axes.filter((name) => layout[name].dtick !== wholeStep(layout[name].range));
    if (changed.length === 0) return;
    Plotly.relayout(this.plot, Object.fromEntries(changed.map((name) => [`${name}.dtick`, wholeStep(layout[name].range)])));
  }

  timesOf() {
    const all = this.panels.flatMap((panel) => panel.series.flatMap((one) => one.x ?? []));
    return [...new Set(all.filter((time) => time !== null))].sort((a, b) => a - b);
  }

  controls() {
    const box = make("div", { className: "controls" });
    this.toggle = make("button", { type: "button", textContent: "Picture", onclick: () => this.show(this.picture.hidden === false) });
    box.append(this.toggle);
    if (this.names.length > 1) {
      const input = make("input", { type: "search", placeholder: "part of a name", size: 14 });
      input.addEventListener("input", () => { this.wanted = input.value.trim().toLowerCase(); this.draw(); });
      box.append(make("label", {}, "Show only ", input));
    }
    if (this.times.length > 1) {
      this.slider = make("input", { type: "range", min: 0, max: this.times.length - 1, value: Math.floor(this.times.length / 2) });
      this.slider.addEventListener("input", () => this.move());
      this.now = make("output");
      box.append(make("label", {}, "Time ", this.slider), this.now);
    }
    return box;
  }

  show(isInteractive) {
    this.picture.hidden = isInteractive;
    this.plot.hidden = this.table.hidden = !isInteractive;
    this.toggle.textContent = isInteractive ? "Picture" : "Interactive";
    if (isInteractive) this.draw();
  }

  draw() {
    const { domains, whole } = grid(this.panels, this.wanted);
    const title = this.legend ? { title: { text: this.legend, side: isNarrow.matches ? "top" : "left" } } : {};
    const legend = legendHeight(this.panels, this.figure.clientWidth - MARGIN.l - MARGIN.r) + (this.legend ? LEGEND_ROW : 0);
    const layout = {
      height: whole + MARGIN.t + MARGIN.b + (isNarrow.matches ? legend : 0), margin: MARGIN,
      paper_bgcolor: "transparent", plot_bgcolor: "transparent", font: { color: shade("--text"), size: 11, family: "system-ui, sans-serif" },
      hovermode: "closest", barmode: "overlay", dragmode: "zoom", shapes: [], annotations: [],
      legend: { orientation: "h", y: 1 + 18 / whole, yanchor: "bottom", x: 0, ...title, ...(isNarrow.matches ? { maxheight: legend + LEGEND_ROW } : {}) }, modebar: { bgcolor: "transparent", color: shade("--faint"), activecolor: shade("--text") }, hoverlabel: { namelength: -1 },
    };
    const seen = new Set();
    const data = this.panels.flatMap((panel, place) => {
      const [x, y] = [`x${place ? place + 1 : ""}`, `y${place ? place + 1 : ""}`];
      const isMap = panel.series.some((one) => one.kind === "map");
      layout[`xaxis${x.slice(1)}`] = { ...axisOf(panel.x, x, y, domains[place].x), ...(this.times.length && place ? { matches: "x" } : {}) };
      layout[`yaxis${y.slice(1)}`] = { ...axisOf(namedAxis(panel.y, this.panels[0].y), y, x, domains[place].y), ...(isMap ? { type: "category", range: undefined, autorange: "reversed", tickmode: "auto" } : {}) };
      layout.shapes.push(...rules(panel, x, y));
      const above = { x: 0, y: 1, xref: `${x} domain`, yref: `${y} domain`, xanchor: "left", yanchor: "bottom", showarrow: false };
      if (panel.title) layout.annotations.push({ ...above, text: `<b>${panel.title}</b>` });
      return panel.series.flatMap((one) => {
        if (one.kind === "rule") return [];
        const id = one.kind === "map" ? `map of ${one.range}` : one.name;
        const isFirst = !seen.has(id);
        seen.add(id);
        return traces(one, { x, y, domain: domains[place], scale: scaleOf(one, this.panels) }, this.wanted, isFirst);
      });
    });
    this.fixed = layout.shapes;
    const options = { responsive: true, displaylogo: false, displayModeBar: isNarrow.matches ? false : "hover", modeBarButtons: BUTTONS };
    Plotly.react(this.plot, data, layout, options);
    const panels = this.panels.map((panel) => panel.title || panel.y.label).filter(Boolean).join("; ");
    this.plot.setAttribute("aria-label", `${this.title}: ${panels}. Keys: plus and minus zoom, arrows move, 0 shows all.`);
    if (this.slider) this.move();
  }

  // A line at the chosen time in every panel, and a table of the values there.
  move() {
    const time = this.times[this.slider.value];
    const lines = this.panels.map((_, place) => {
      const number = place ? place + 1 : "";
      return { type: "line", x0: time, x1: time, y0: 0, y1: 1, xref: `x${number}`, yref: `y${number} domain`, line: { color: "#c00", width: 1.5 } };
    });
    Plotly.relayout(this.plot, { shapes: [...this.fixed, ...lines] });
    const unit = this.panels.at(-1).x.label || this.panels[0].x.label;
    this.now.textContent = `${text(time)} ${/\[(.*)\]/.exec(unit)?.[1] ?? ""}`;
    this.slider.setAttribute("aria-valuetext", this.now.textContent);
    this.table.replaceChildren(this.reading(time));
  }

  reading(time) {
    const heads = this.panels.map((panel) => panel.title || panel.y.label);
    const names = this.names.filter((name) => name.toLowerCase().includes(this.wanted));
    const rows = names.slice(0, ROWS_MAX).map((name) => {
      const cells = this.panels.map((panel) => make("td", { className: "number", textContent: text(valueAt(panel, name, time)) }));
      return make("tr", {}, make("th", { scope: "row", textContent: name }), ...cells);
    });
    const head = make("tr", {}, make("th", { textContent: `at ${this.now.textContent}` }), ...heads.map((one) => make("th", { className: "number", textContent: one })));
    const more = names.length > ROWS_MAX ? [make("caption", { textContent: `The first ${ROWS_MAX} of ${names.length}; narrow them by name.` })] : [];
    return make("table", {}, ...more, head, ...rows);
  }

  press(event) {
    const factor = { "+": 0.5, "=": 0.5, "-": 2 }[event.key];
    const step = { ArrowLeft: -0.25, ArrowRight: 0.25 }[event.key];
    const layout = this.plot.layout;
    const axes = Object.keys(layout).filter((name) => name.startsWith("xaxis"));
    if (event.key === "0") {
      event.preventDefault();
      this.draw();
    } else if (factor || step) {
      event.preventDefault();
      const change = axes.map((name) => {
        const [low, high] = layout[name].range;
        const [middle, half] = [(low + high) / 2 + (step ?? 0) * (high - low), ((high - low) / 2) * (factor ?? 1)];
        return [`${name}.range`, [middle - half, middle + half]];
      });
      Plotly.relayout(this.plot, Object.fromEntries(change));
    }
  }
}

function valueAt(panel, name, time) {
  for (const one of panel.series) {
    const row = one.names ? one.names.indexOf(name) : -1;
    if (row < 0 && one.name !== name) continue;
    const place = one.x.findLastIndex((at) => at !== null && at <= time);
    return place < 0 ? null : (row < 0 ? one.y : one.z[row])[place];
  }
  return null;
}

// One after another, so that the page can be read meanwhile.
const drawn = [];
const waiting = [...document.querySelectorAll("figure:has(script)")];
function drawNext() {
  if (waiting.length === 0) return;
  drawn.push(new Interactive(waiting.shift()));
  setTimeout(drawNext);
}
drawNext();
for (const query of [isDark, isNarrow]) query.addEventListener("change", () => drawn.forEach((one) => one.draw()));
// Paper has the pictures, whose colours do not depend on the screen; afterwards each figure is as it was.
let shown = [];
addEventListener("beforeprint", () => { shown = drawn.filter((one) => !one.plot.hidden); shown.forEach((one) => one.show(false)); });
addEventListener("afterprint", () => shown.forEach((one) => one.show(true)));
