// Plays the steps that the page holds: a map of pairs of groups, and charts over time.
const animation = JSON.parse(document.getElementById("animation").textContent);
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const pairs = new Uint32Array(bytes(animation.pairs).buffer);
const cells = bytes(animation.steps);
const colours = bytes(animation.colours);
const count = animation.edges_us.length - 1;
const [map, charts, slider, play, mean, now] =
  ["map", "charts", "slider", "play", "mean", "now"].map((name) => document.getElementById(name));
const isCalm = matchMedia("(prefers-reduced-motion: reduce)");
const PLAYED_MS = 8000;
const CALM_STEP_MS = 700;

const placeOf = new Int32Array(animation.count * animation.count).fill(-1);
pairs.forEach((pair, place) => { placeOf[pair] = place; });
const number = (value) => Number(value.toPrecision(6)).toString();

let step = 0;
let averaged = 1;
let timer = null;

// The first of the steps that are averaged at a step: none that comes after it.
const firstOf = (step) => Math.max(step - averaged + 1, 0);

// The colour level of a pair of groups at a step.
function levelAt(step, place) {
  let sum = 0;
  for (let at = firstOf(step); at <= step; at += 1) sum += cells[at * pairs.length + place];
  return sum / (step - firstOf(step) + 1);
}

function busiest() {
  const sums = new Float64Array(pairs.length);
  for (let at = Math.floor(count / 2) * pairs.length; at < cells.length; at += 1) {
    sums[at % pairs.length] += cells[at];
  }
  return pairs[sums.reduce((best, sum, place) => (sum > sums[best] ? place : best), 0)];
}
let chosen = busiest();

function ticks(low, high, wanted) {
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  const many = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: many }, (_, place) => Number(((first + place) * step).toPrecision(12)));
}

// The map: cells as an image of one dot each, scaled; axes and scale around it.
const EDGE = { left: 46, top: 6, right: 68, bottom: 42 };
const dots = document.createElement("canvas");
dots.width = dots.height = animation.count;

function side() {
  return map.clientWidth - EDGE.left - EDGE.right;
}

function paintDots() {
  const pen = dots.getContext("2d");
  const image = pen.createImageData(animation.count, animation.count);
  const shade = (pair, value) => image.data.set([...colours.subarray(3 * value, 3 * value + 3), 255], 4 * pair);
  pairs.forEach((pair, place) => shade(pair, Math.round(levelAt(step, place))));
  pen.putImageData(image, 0, 0);
}

function drawMap() {
  const scale = devicePixelRatio || 1;
  map.style.height = `${side() + EDGE.top + EDGE.bottom}px`;
  map.width = map.clientWidth * scale;
  map.height = map.clientHeight * scale;
  const pen = map.getContext("2d");
  pen.scale(scale, scale);
  pen.font = "11px system-ui, sans-serif";
  const size = side();
  pen.translate(EDGE.left, EDGE.top);
  pen.fillStyle = animation.absent;
  pen.fillRect(0, 0, size, size);
  pen.imageSmoothingEnabled = false;
  paintDots();
  pen.drawImage(dots, 0, 0, size, size);
  drawCells(pen, size);
  drawAxes(pen, size);
  drawScale(pen, size);
}

function drawCells(pen, size) {
  const cell = size / animation.count;
  if (animation.edged) {
    pen.strokeStyle = "#fff";
    pen.lineWidth = 0.6;
    pen.beginPath();
    for (let place = 0; place <= animation.count; place += 1) {
      pen.moveTo(place * cell, 0); pen.lineTo(place * cell, size);
      pen.moveTo(0, place * cell); pen.lineTo(size, place * cell);
    }
    pen.stroke();
  }
  const [x, y] = [chosen % animation.count, Math.floor(chosen / animation.count)].map((place) => place * cell);
  for (const [colour, width] of [["#fff", 4], ["#c00", 2]]) {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.strokeRect(x - 1, y - 1, cell + 2, cell + 2);
  }
}

function drawAxes(pen, size) {
  const cell = size / animation.count;
  pen.fillStyle = "#222";
  for (const tick of ticks(0, Math.max(animation.count - 1, 1), 9).filter(Number.isInteger)) {
    pen.textAlign = "center"; pen.textBaseline = "top";
    pen.fillText(tick, (tick + 0.5) * cell, size + 6);
    pen.textAlign = "right"; pen.textBaseline = "middle";
    pen.fillText(tick, -6, (tick + 0.5) * cell);
  }
  pen.textAlign = "center"; pen.textBaseline = "top";
  pen.fillText(`to ${animation.area}`, size / 2, size + 24);
  upright(pen, `from ${animation.area}`, -38, size / 2);
}

function drawScale(pen, size) {
  const [left, width] = [size + 14, 10];
  for (let y = 0; y < size; y += 1) {
    const level = 3 * Math.round(255 * (1 - y / (size - 1)));
    pen.fillStyle = `rgb(${colours.subarray(level, level + 3).join()})`;
    pen.fillRect(left, y, width, 1.5);
  }
  pen.fillStyle = "#222";
  pen.textAlign = "left"; pen.textBaseline = "middle";
  for (const tick of [0, 0.2, 0.4, 0.6, 0.8, 1]) {
    pen.fillText(tick, left + width + 4, Math.min(Math.max((1 - tick) * size, 5), size - 4));
  }
  upright(pen, "utilisation of the links", left + 38, size / 2);
}

function upright(pen, text, x, y) {
  pen.save();
  pen.translate(x, y);
  pen.rotate(-Math.PI / 2);
  pen.textAlign = "center"; pen.textBaseline = "top";
  pen.fillText(text, 0, 0);
  pen.restore();
}

// The charts: three panels on one axis of time.
const PANEL = { left: 46, width: 424, top: 36, height: 112, every: 164 };
const [begin, end] = [animation.edges_us[0], animation.edges_us[count]];
const across = (us) => PANEL.left + (PANEL.width * (us - begin)) / (end - begin);

function shape(name, attributes, text = "") {
  const made = document.createElementNS(charts.namespaceURI, name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  made.textContent = text;
  charts.append(made);
  return made;
}

function panel(place, words, top) {
  const foot = PANEL.top + place * PANEL.every + PANEL.height;
  const up = (value) => foot - (PANEL.height * value) / top;
  const right = PANEL.left + PANEL.width;
  for (const tick of ticks(0, top, 4)) {
    shape("line", { class: "rule", x1: PANEL.left, x2: right, y1: up(tick), y2: up(tick) });
    shape("text", { x: PANEL.left - 6, y: up(tick) + 4, "text-anchor": "end" }, number(tick));
  }
  for (const tick of ticks(begin, end, 8)) {
    shape("line", { class: "rule", x1: across(tick), x2: across(tick), y1: up(0), y2: up(top) });
    shape("text", { x: across(tick), y: foot + 15, "text-anchor": "middle" }, number(tick));
  }
  shape("path", { class: "axis", fill: "none", d: `M${PANEL.left} ${up(top)}V${foot}H${right}` });
  let x = PANEL.left;
  const titles = words.map(([text, colour]) => {
    const title = shape("text", { class: "title", x, y: up(top) - 8, style: `fill: ${colour}` }, text);
    x += title.getComputedTextLength() + 12;
    return title;
  });
  animation.patterns.filter((turn) => turn.start_us > begin && turn.start_us < end).forEach((turn) => {
    const at = across(turn.start_us);
    shape("line", { class: "turn", x1: at, x2: at, y1: up(0), y2: up(top) });
  });
  const cursor = shape("rect", { class: "cursor", y: up(top), height: PANEL.height });
  return { up, cursor, titles };
}

function stepLine(times, values, up) {
  const drawn = values.map((value, place) => {
    if (value === null) return "";
    const [x, y] = [across(times[place]), up(value)].map((at) => at.toFixed(1));
    const starts = place === 0 || values[place - 1] === null;
    return `${starts ? "M" : "L"}${x} ${y}`;
  });
  return drawn.join("");
}

const { time_us, offered, accepted, latency_us } = animation.series;
const middles = time_us.map((us) => us + animation.batch_us / 2);
const most = (...lists) => Math.max(...lists.flat().filter((value) => value !== null), 1e-9);
const LOADS = [["load:", "#222"], ["offered", "var(--offered)"], ["accepted", "var(--accepted)"]];
const loads = panel(0, LOADS, most(offered, accepted) * 1.1);
const delays = panel(1, [["mean latency [us]", "var(--latency)"]], most(latency_us) * 1.1);
const links = panel(2, [["utilisation", "var(--pair)"]], 1.05);
const panels = [loads, delays, links];
const line = (d, colour) => shape("path", { class: "line", d, style: `stroke: ${colour}` });
line(stepLine(middles, offered, loads.up), "var(--offered)");
line(stepLine(middles, accepted, loads.up), "var(--accepted)");
line(stepLine(middles, latency_us, delays.up), "var(--latency)");
const pairLine = line("", "var(--pair)");
animation.patterns.forEach((turn, place) => {
  const until = animation.patterns[place + 1]?.start_us ?? Infinity;
  if (until <= begin || turn.start_us >= end) return;
  const x = across(Math.max(turn.start_us, begin)) + 2;
  shape("text", { x, y: 12 }, turn.name);
});
shape("text", { x: PANEL.left + PANEL.width / 2, y: 506, "text-anchor": "middle" }, "time [us]");

function drawPair() {
  const place = placeOf[chosen];
  const times = animation.edges_us.slice(0, count).map((us, at) => (us + animation.edges_us[at + 1]) / 2);
  const values = times.map((_, at) => (place < 0 ? null : levelAt(at, place) / 255));
  pairLine.setAttribute("d", stepLine(times, values, links.up));
  links.titles[0].textContent = `utilisation, ${nameOf(chosen)}`;
}

function nameOf(pair) {
  return `${animation.area} ${Math.floor(pair / animation.count)} to ${pair % animation.count}`;
}

function report() {
  const [from, to] = [animation.edges_us[firstOf(step)], animation.edges_us[step + 1]];
  const pattern = animation.patterns.findLast((turn) => turn.start_us < to) ?? animation.patterns[0];
  const all = pairs.reduce((sum, _, place) => sum + levelAt(step, place), 0) / pairs.length / 255;
  const time = `${number(from)} to ${number(to)} us`;
  const place = placeOf[chosen];
  const own = place < 0 ? "no link" : (levelAt(step, place) / 255).toFixed(2);
  now.textContent = `${time}, ${pattern.name}: mean ${all.toFixed(2)}; ${nameOf(chosen)}: ${own}`;
  slider.setAttribute("aria-valuetext", `${time}, ${pattern.name}`);
  map.setAttribute("aria-label", `Utilisation between any two ${animation.area}s, ${now.textContent}`);
}

function show(next) {
  step = Math.min(Math.max(next, 0), count - 1);
  slider.value = step;
  for (const { cursor } of panels) {
    const left = across(animation.edges_us[firstOf(step)]);
    cursor.setAttribute("x", left);
    cursor.setAttribute("width", across(animation.edges_us[step + 1]) - left);
  }
  drawMap();
  report();
}

function choose(pair) {
  chosen = pair;
  drawPair();
  show(step);
}

function pause() {
  clearInterval(timer);
  timer = null;
  play.textContent = "Play";
  now.setAttribute("aria-live", "polite");
}

function start() {
  if (step === count - 1) show(0);
  const delay = isCalm.matches ? CALM_STEP_MS : Math.min(Math.max(PLAYED_MS / count, 60), 400);
  timer = setInterval(() => (step === count - 1 ? pause() : show(step + 1)), delay);
  play.textContent = "Pause";
  now.setAttribute("aria-live", "off");
}

function point(event) {
  const cell = side() / animation.count;
  const box = map.getBoundingClientRect();
  const x = Math.floor((event.clientX - box.left - EDGE.left) / cell);
  const y = Math.floor((event.clientY - box.top - EDGE.top) / cell);
  const isInside = [x, y].every((place) => place >= 0 && place < animation.count);
  if (isInside && y * animation.count + x !== chosen) choose(y * animation.count + x);
}

const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
function moveCell(event) {
  const move = MOVES[event.key];
  if (!move) return;
  event.preventDefault();
  const place = [Math.floor(chosen / animation.count), chosen % animation.count];
  const [from, to] = place.map((at, axis) => (at + move[axis] + animation.count) % animation.count);
  choose(from * animation.count + to);
}

function average() {
  averaged = Number(mean.value);
  drawPair();
  show(step);
}

// Few packets pass in a short batch: a mean of several shows a pattern sooner than each of them.
const choices = [1, 2, 4, 8, 16].filter((many) => many <= Math.max(count / 5, 1));
choices.forEach((many) => mean.add(new Option(many, many)));
mean.value = choices.includes(4) ? 4 : 1;
mean.addEventListener("change", average);
slider.max = count - 1;
slider.addEventListener("input", () => { pause(); show(Number(slider.value)); });
play.addEventListener("click", () => (timer === null ? start() : pause()));
map.addEventListener("pointermove", point);
map.addEventListener("pointerdown", point);
map.addEventListener("keydown", moveCell);
addEventListener("resize", drawMap);
averaged = Number(mean.value);
drawPair();
show(Number(/^#step=(\d+)$/.exec(location.hash)?.[1] ?? 0));
