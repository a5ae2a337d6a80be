/** Charts: lines over iterations with uPlot, small posteriors by hand. */
import { h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";

declare const require: (name: "uplot") => { default: typeof uPlot };

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

export interface Line {
  label: string;
  colour: string;
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
}

const HEIGHT = 220;
const DASHES = [undefined, [6, 4], [2, 3], [8, 3, 2, 3]];
const FONT = "12px system-ui, sans-serif";
const iteration = (x: number) => (x < 0 ? "start" : String(x));

/** Lines over iterations, -1 the start. Under them the values at the pointer, or else the newest. */
export function Chart({ label, x, lines, format, range }: Drawn) {
  const box = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  const plot = useRef<uPlot | null>(null);
  const told = lines.map((line) => `${line.label} ${line.y.map((v) => (v === null ? "–" : format(v))).join(", ")}`);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const [ink, grid] = [colour("muted"), colour("line")];
    const newest = (u: uPlot) => u.cursor.idx == null && u.setLegend({ idx: u.data[0].length - 1 }, false);
    const axis = { stroke: ink, font: FONT };
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
          {
            ...axis,
            grid: { show: false },
            ticks: { stroke: grid, size: 4 },
            incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
            gap: 4,
            size: 30,
            values: (_u, ticks) => ticks.map(iteration),
          },
          {
            ...axis,
            grid: { stroke: grid, width: 1 },
            ticks: { show: false },
            size: 58,
            values: (_u, ticks) => ticks.map(format),
          },
        ],
        series: [
          { label: "iteration", value: (_u, v) => (v == null ? "–" : iteration(v)) },
          ...lines.map((line, n) => ({
            label: line.label,
            stroke: colour(line.colour),
            width: line.bare ? 0 : 2,
            dash: line.bare ? undefined : DASHES[n % DASHES.length],
            spanGaps: true,
            points: { show: true, size: line.bare ? 10 : 6, width: line.bare ? 2.5 : 1, fill: colour("page") },
            value: (_u: uPlot, v: number | null) => (v == null ? "–" : format(v)),
          })),
        ],
      },
      [x, ...lines.map((line) => line.y)],
      element,
    );
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [theme, lines.map((line) => line.label).join()]);
  useEffect(() => plot.current?.setData([x, ...lines.map((line) => line.y)]), [JSON.stringify([x, lines])]);
  return <div class="chart" ref={box} role="img" aria-label={`${label}: ${told.join("; ")}`} />;
}

const STEPS = 120;

/** The density of Beta(a, b) on a grid, its highest 1, and its middle 90 %. */
export function beta(a: number, b: number) {
  const logs = Array.from({ length: STEPS }, (_, n) => {
    const x = (n + 0.5) / STEPS;
    return (a - 1) * Math.log(x) + (b - 1) * Math.log(1 - x);
  });
  const top = Math.max(...logs);
  const density = logs.map((v) => Math.exp(v - top));
  const sum = density.reduce((p, q) => p + q, 0);
  const quantile = (share: number) => {
    let below = 0;
    return (density.findIndex((d) => (below += d) >= share * sum) + 0.5) / STEPS;
  };
  return { density, low: quantile(0.05), high: quantile(0.95), mean: a / (a + b) };
}

/** Two posteriors, the earlier one dashed. */
export function Posterior({ now, was }: { now: ReturnType<typeof beta>; was?: ReturnType<typeof beta> | null }) {
  const shape = ({ density }: ReturnType<typeof beta>) =>
    `M0 24${density.map((d, n) => `L${(((n + 0.5) / STEPS) * 200).toFixed(1)} ${(24 - 21 * d).toFixed(1)}`).join("")}L200 24`;
  return (
    <svg class="posterior" viewBox="0 0 200 26" preserveAspectRatio="none" aria-hidden="true">
      <line x1="0" x2="200" y1="24" y2="24" class="base" />
      {was && <path d={shape(was)} class="was" />}
      <path d={shape(now)} class="now" />
      <line x1={200 * now.mean} x2={200 * now.mean} y1="3" y2="26" class="mean" />
    </svg>
  );
}
