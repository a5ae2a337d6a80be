/** Charts: lines over iterations with uPlot, small posteriors by hand. */
import { h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { Scroll } from "./parts.jsx";
import { visible } from "./words.js";

/** The colour that a token has now, dark or light. @param {string} token */
export function colour(token) {
  const probe = document.createElement("i");
  probe.style.color = `var(--${token})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** Counts changes between dark and light, so that what is drawn in a canvas is drawn again. */
export function useTheme() {
  const [n, set] = useState(0);
  useEffect(() => {
    const heard = () => set((old) => old + 1);
    const media = matchMedia("(prefers-color-scheme: dark)");
    addEventListener("theme", heard);
    media.addEventListener("change", heard);
    return () => {
      removeEventListener("theme", heard);
      media.removeEventListener("change", heard);
    };
  }, []);
  return n;
}

/**
 * @typedef {{label: string, colour: string, y: (number | null)[], dash?: number[], bare?: boolean}} Line a bare one has points and no line
 * @typedef {{x: number, colour: string, label: string}} Rule
 * @param {{x: number[], lines: Line[], label: string, height?: number, format: (v: number) => string, name: (x: number) => string,
 *   rules?: Rule[], range?: [number, number]}} props
 */
export function Chart({ x, lines, label, height = 240, format, name, rules = [], range }) {
  const box = /** @type {{current: HTMLDivElement | null}} */ (useRef(null));
  const theme = useTheme();
  const drawn = /** @type {{current: {plot: uPlot, rules: Rule[]} | null}} */ (useRef(null));
  const made = JSON.stringify(lines.map((line) => [line.label, line.colour]));
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const ink = colour("muted");
    const line = colour("line");
    /** @param {uPlot} u */
    const drawRules = (u) => {
      for (const rule of drawn.current?.rules ?? rules) {
        const at = Math.round(u.valToPos(rule.x, "x", true));
        u.ctx.save();
        u.ctx.strokeStyle = colour(rule.colour);
        u.ctx.lineWidth = devicePixelRatio;
        u.ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
        u.ctx.beginPath();
        u.ctx.moveTo(at, u.bbox.top);
        u.ctx.lineTo(at, u.bbox.top + u.bbox.height);
        u.ctx.stroke();
        u.ctx.setLineDash([]);
        u.ctx.fillStyle = colour(rule.colour);
        u.ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
        const right = at > u.bbox.left + u.bbox.width * 0.85;
        u.ctx.textAlign = right ? "right" : "left";
        u.ctx.fillText(rule.label, at + (right ? -4 : 4) * devicePixelRatio, u.bbox.top + 10 * devicePixelRatio);
        u.ctx.restore();
      }
    };
    /** @type {uPlot.Options} */
    const options = {
      width: element.clientWidth,
      height,
      padding: [8, 12, 0, 0],
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
      legend: { live: true },
      hooks: { draw: [drawRules] },
      scales: { x: { time: false }, y: { range: range ?? ((_u, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.05]) } },
      axes: [
        { stroke: ink, grid: { show: false }, ticks: { stroke: line, size: 4 }, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000], font: "12px system-ui, sans-serif", gap: 4, size: 30, values: (_u, ticks) => ticks.map(name) },
        { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif", size: 58, values: (_u, ticks) => ticks.map(format) },
      ],
      series: [
        { label: "at", value: (_u, v) => (v === null ? "–" : name(v)) },
        ...lines.map((one) => ({
          label: one.label,
          stroke: colour(one.colour),
          width: one.bare ? 0 : 2,
          dash: one.dash,
          spanGaps: true,
          points: { show: true, size: one.bare ? 10 : 6, width: one.bare ? 2.5 : 1, fill: colour("page"), stroke: colour(one.colour) },
          value: (/** @type {uPlot} */ _u, /** @type {number | null} */ v) => (v === null || v === undefined ? "–" : format(v)),
        })),
      ],
    };
    const plot = new uPlot(options, [x, ...lines.map((one) => one.y)], element);
    drawn.current = { plot, rules };
    const watch = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      plot.destroy();
      drawn.current = null;
    };
  }, [made, theme, height]);
  useEffect(() => {
    if (!drawn.current) return;
    drawn.current.rules = rules;
    drawn.current.plot.setData([x, ...lines.map((one) => one.y)]);
  }, [JSON.stringify([x, lines.map((line) => line.y), rules])]);
  return <div class="chart" ref={box} role="img" aria-label={label} />;
}

const STEPS = 120;

/** The density of Beta(a, b) on a grid, its highest 1, and its middle 90 %. @param {number} a @param {number} b */
export function beta(a, b) {
  const logs = Array.from({ length: STEPS }, (_, n) => {
    const x = (n + 0.5) / STEPS;
    return (a - 1) * Math.log(x) + (b - 1) * Math.log(1 - x);
  });
  const top = Math.max(...logs);
  const density = logs.map((v) => Math.exp(v - top));
  const sum = density.reduce((p, q) => p + q, 0);
  let before = 0;
  let low = 0;
  let high = 1;
  density.forEach((d, n) => {
    if (before < 0.05 * sum && before + d >= 0.05 * sum) low = (n + 0.5) / STEPS;
    if (before < 0.95 * sum && before + d >= 0.95 * sum) high = (n + 0.5) / STEPS;
    before += d;
  });
  return { density, low, high, mean: a / (a + b) };
}

/** @param {{alpha: number, beta: number, was?: {alpha: number, beta: number} | null, label: string}} props */
export function Posterior({ alpha, beta: b, was, label }) {
  const now = beta(alpha, b);
  const shape = (/** @type {number[]} */ density) =>
    `M0 24${density.map((d, n) => `L${(((n + 0.5) / STEPS) * 200).toFixed(1)} ${(24 - 21 * d).toFixed(1)}`).join("")}L200 24`;
  return (
    <svg class="posterior" viewBox="0 0 200 26" preserveAspectRatio="none" role="img" aria-label={label}>
      <line x1="0" x2="200" y1="24" y2="24" class="base" />
      {was && <path d={shape(beta(was.alpha, was.beta).density)} class="was" />}
      <path d={shape(now.density)} class="now" />
      <line x1={200 * now.mean} x2={200 * now.mean} y1="3" y2="26" class="mean" />
    </svg>
  );
}

/** A share as a bar with its number beside it. @param {{share: number | null, text: string, tone?: string}} props */
export const Bar = ({ share, text, tone = "" }) => (
  <span class="bar">
    <span class="num">{text}</span>
    <span class={`rail ${tone}`} aria-hidden="true"><i style={{ width: `${100 * Math.max(0, Math.min(1, share ?? 0))}%` }} /></span>
  </span>
);

/** Two texts beside each other, line by line. @param {{before: string, after: string, names: [string, string]}} props */
export function Difference({ before, after, names }) {
  const rows = difference(before.split("\n"), after.split("\n"));
  const changes = rows.filter(([sign]) => sign !== " ").length;
  if (!changes) return <p class="muted">Both are the same text.</p>;
  return (
    <Scroll label={`${names[0]} and ${names[1]}`} class="difference">
      <p class="legend"><span class="minus">− {names[0]}</span> <span class="plus">+ {names[1]}</span></p>
      {folded(rows).map(([sign, text], n) => (
        <div key={n} class={{ "-": "minus", "+": "plus", " ": "", "…": "fold" }[sign]}>
          <span class="sign" aria-label={{ "-": "only in the first", "+": "only in the second" }[sign]}>{sign === "-" ? "−" : sign}</span>
          <span dir="auto">{visible(text) || " "}</span>
        </div>
      ))}
    </Scroll>
  );
}

/** @param {string[]} a @param {string[]} b @returns {[string, string][]} sign and line; long middles are told as replaced */
export function difference(a, b) {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const left = a.slice(head, a.length - tail);
  const right = b.slice(head, b.length - tail);
  /** @type {[string, string][]} */
  const middle = [];
  if (left.length * right.length > 4_000_000) {
    middle.push(...left.map((line) => /** @type {[string, string]} */ (["-", line])), ...right.map((line) => /** @type {[string, string]} */ (["+", line])));
  } else {
    const width = right.length + 1;
    const longest = new Uint32Array((left.length + 1) * width);
    for (let i = left.length - 1; i >= 0; i--)
      for (let j = right.length - 1; j >= 0; j--)
        longest[i * width + j] = left[i] === right[j] ? longest[(i + 1) * width + j + 1] + 1 : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    let i = 0;
    let j = 0;
    while (i < left.length || j < right.length) {
      if (i < left.length && j < right.length && left[i] === right[j]) middle.push([" ", left[i++]]), j++;
      else if (j >= right.length || (i < left.length && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) middle.push(["-", left[i++]]);
      else middle.push(["+", right[j++]]);
    }
  }
  const same = (/** @type {string[]} */ lines) => lines.map((line) => /** @type {[string, string]} */ ([" ", line]));
  return [...same(a.slice(0, head)), ...middle, ...same(tail ? a.slice(-tail) : [])];
}

/** Long runs of equal lines, folded. @param {[string, string][]} rows @returns {[string, string][]} */
function folded(rows) {
  const near = rows.map((_, n) => rows.slice(Math.max(0, n - 2), n + 3).some(([sign]) => sign !== " "));
  /** @type {[string, string][]} */
  const out = [];
  for (let n = 0; n < rows.length; ) {
    if (near[n]) out.push(rows[n++]);
    else {
      let end = n;
      while (end < rows.length && !near[end]) end++;
      out.push(["…", `${end - n} equal line${end - n === 1 ? "" : "s"}`]);
      n = end;
    }
  }
  return out;
}
