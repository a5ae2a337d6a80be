/** Charts: lines over iterations with uPlot, small posteriors by hand. */
import { useEffect, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { visible } from "./visible";

declare const require: (name: "uplot") => { default: typeof uPlot };

/** The colours of lines and of layers, in turn. */
export const COLOURS = ["accent", "second", "third", "fourth", "fifth", "sixth"];

/** The colour that a token has now, dark or light. */
export function colour(token: string) {
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
    const until = new AbortController();
    const heard = () => set((old) => old + 1);
    for (const target of [window, matchMedia("(prefers-color-scheme: dark)")])
      for (const event of ["theme", "change"]) target.addEventListener(event, heard, until);
    return () => until.abort();
  }, []);
  return n;
}

export interface Line {
  label: string;
  /** Without one, the next of COLOURS. */
  colour?: string;
  y: (number | null)[];
  /** Points without a line. */
  bare?: boolean;
}

interface Drawn {
  label: string;
  x: number[];
  lines: Line[];
  format: (v: number) => string;
  range?: [number, number];
  /** What a click on an iteration does. */
  pick: (iteration: number) => void;
}

const HEIGHT = 220;
const DASHES = [undefined, [6, 4], [2, 3], [8, 3, 2, 3]];
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]; // iterations between two ticks
const FONT = "12px system-ui, sans-serif";
const iteration = (x: number) => (x < 0 ? "start" : String(x));

/** Lines over iterations, -1 the start. Under them the values at the pointer, or else the newest. */
export function Chart({ label, x, lines, format, range, pick }: Drawn) {
  const box = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  const plot = useRef<uPlot | null>(null);
  const picked = useRef(pick);
  picked.current = pick;
  const columns: uPlot.AlignedData = [x, ...lines.map((line) => line.y)];
  const told = lines.map((line) => `${line.label} ${line.y.map((v) => (v === null ? "–" : format(v))).join(", ")}`);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const [ink, grid] = [colour("muted"), colour("line")];
    const newest = (u: uPlot) => u.cursor.idx == null && u.setLegend({ idx: u.data[0].length - 1 }, false);
    const axis = { stroke: ink, font: FONT };
    const across = { ...axis, grid: { show: false }, ticks: { stroke: grid, size: 4 }, incrs: WHOLE, gap: 4, size: 30 };
    const up = { ...axis, grid: { stroke: grid, width: 1 }, ticks: { show: false }, size: 58 };
    const few = (u: uPlot) => u.data[0].length < 200; // of more one sees but the line
    const drawn = ({ label, colour: of, bare }: Line, n: number): uPlot.Series => ({
      label: visible(label),
      stroke: colour(of ?? COLOURS[n % COLOURS.length]),
      width: bare ? 0 : 2,
      dash: bare ? undefined : DASHES[n % DASHES.length],
      spanGaps: true,
      points: { show: bare || few, size: bare ? 10 : 6, width: bare ? 2.5 : 1, fill: colour("page") },
      value: (_u, v) => (v == null ? "–" : format(v)),
    });
    const { default: Plot } = require("uplot"); // made when it is needed: it uses `Intl`, which takes long
    const made = new Plot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        padding: [8, 12, 0, 0],
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
        hooks: { draw: [newest], setCursor: [newest] },
        scales: {
          x: { time: false },
          y: { range: range ?? ((_u, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.05]) },
        },
        axes: [
          { ...across, values: (_u, ticks) => ticks.map(iteration) },
          { ...up, values: (_u, ticks) => ticks.map(format) },
        ],
        series: [{ label: "iteration", value: (_u, v) => (v == null ? "–" : iteration(v)) }, ...lines.map(drawn)],
      },
      columns,
      element,
    );
    plot.current = made;
    made.over.addEventListener("click", () => {
      const at = made.cursor.idx;
      if (at != null) picked.current(made.data[0][at]);
    });
    const watch = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    watch.observe(element);
    return () => (watch.disconnect(), made.destroy());
  }, [theme, lines.map((line) => line.label).join()]);
  useEffect(() => plot.current?.setData(columns), [JSON.stringify(columns)]);
  return <div class="chart" ref={box} role="img" aria-label={`${label}: ${told.join("; ")}`} />;
}

const STEPS = 120;

/** The density of Beta(a, b) on a grid, its highest 1, and its middle 90 %. */
export function beta(a: number, b: number) {
  const grid = Array.from({ length: STEPS }, (_, n) => (n + 0.5) / STEPS);
  const logs = grid.map((x) => (a - 1) * Math.log(x) + (b - 1) * Math.log(1 - x));
  const top = Math.max(...logs);
  const density = logs.map((v) => Math.exp(v - top));
  const sum = density.reduce((p, q) => p + q, 0);
  const quantile = (share: number) => {
    let below = 0;
    return grid[density.findIndex((d) => (below += d) >= share * sum)];
  };
  const hill = [...grid.keys()].filter((n) => density[n] > 0.01); // the rest is flat
  const slope = hill.map((n) => `L${(200 * grid[n]).toFixed(1)} ${(24 - 21 * density[n]).toFixed(1)}`).join("");
  const path = `M0 24H${200 * grid[hill[0]]}${slope}V24H200`;
  return { path, low: quantile(0.05), high: quantile(0.95), mean: a / (a + b) };
}

type Beta = ReturnType<typeof beta>;

/** Two posteriors, the earlier one dashed. */
export const Posterior = ({ now, was }: { now: Beta; was: Beta | null }) => (
  <svg class="posterior" viewBox="0 0 200 26" preserveAspectRatio="none" aria-hidden="true">
    <line x1="0" x2="200" y1="24" y2="24" class="base" />
    {was && <path d={was.path} class="was" />}
    <path d={now.path} class="now" />
    <line x1={200 * now.mean} x2={200 * now.mean} y1="3" y2="26" class="mean" />
  </svg>
);
