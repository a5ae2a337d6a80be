/** The graph as a picture, to move and zoom by mouse, fingers and keys. Nodes never move: the graph only grows. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { COLOURS, colour, useTheme } from "./charts";
import type { Table } from "./data";
import { SAMPLE, layerOf, radius, type Layer, type Shape } from "./gl";
import { Empty } from "./parts";
import { pressed, useView } from "./view";
import { visible } from "./visible";
import { brief, short } from "./words";

export const LAYERS = ["capability", "task", "experience", "environment"];
const WIDE = innerWidth < 600 ? 0.9 : 1.6; // most screens are wider than high
const NEVER = 3e38;
const NAMES = 60; // that are written at once
const CALM_MS = 400; // until all is drawn again after a sample of it

function shaped(nodes: Table, edges: Table): Shape {
  const { x, y, from, to = [], layer } = nodes.col;
  const { source = [], target = [], from: born = [] } = edges.col;
  const degree = new Uint32Array(nodes.rows);
  for (let k = 0; k < edges.rows; k++) (degree[source[k]]++, degree[target[k]]++);
  const crowd = Math.max(0.45, Math.min(1, 20 / Math.sqrt(nodes.rows + 1)));
  const size = (d: number, k: number) => (layer[k] === "experience" ? 5 : 7 + Math.min(9, 2 * Math.log2(1 + d)));
  const wide = x.map((v) => v * WIDE);
  const pairs = (p: number[], q: (k: number) => number) => p.flatMap((one, k) => [one, q(k)]);
  return {
    place: Float32Array.from(pairs(wide, (k) => y[k])),
    life: Float32Array.from(pairs(from, (k) => to[k] ?? NEVER)),
    layer: Uint8Array.from(layer, (name) => Math.max(0, LAYERS.indexOf(name))),
    size: Float32Array.from(degree, (d, k) => size(d, k) * crowd + 2),
    ends: Uint32Array.from(pairs(source, (k) => target[k])),
    born,
  };
}

function rgb(token: string) {
  const found = colour(token);
  const parts = (found.match(/[\d.]+/g) ?? ["0", "0", "0"]).slice(0, 3);
  return parts.map((v) => Number(v) / (found.startsWith("color(") ? 1 : 255));
}

/** The least and the greatest of many: there may be more than a call takes arguments. */
const bounds = (some: number[]) =>
  some.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]);

/** Nodes and edges beside a node at a moment. */
function beside({ ends, born }: Shape, n: number, seq: number) {
  const edges = [...born.keys()].filter((k) => born[k] <= seq && (ends[2 * k] === n || ends[2 * k + 1] === n));
  return { edges, nodes: [...new Set(edges.map((k) => ends[2 * k] + ends[2 * k + 1] - n))] };
}

type Rect = [left: number, top: number, right: number, bottom: number];
const clash = (r: Rect) => (t: Rect) => r[0] - 2 < t[2] && t[0] < r[2] + 2 && r[1] < t[3] && t[1] < r[3];

export function Picture({ nodes, edges, chosen }: { nodes: Table; edges: Table; chosen: number }) {
  const { seq, second, address, go } = useView();
  const theme = useTheme();
  const canvas = useRef<HTMLCanvasElement>(null);
  const names = useRef<HTMLCanvasElement>(null);
  const layer = useRef<Layer | null>(null);
  const camera = useRef({ x: 0, y: 0, scale: 0 });
  const calm = useRef(0);
  const [without, setWithout] = useState(false);
  const shape = useMemo(() => shaped(nodes, edges), [nodes, edges]);
  const every = useMemo(() => [...shape.layer.keys()], [shape]);
  // Skills and task types, the best linked first: their names are written.
  const skeleton = useMemo(() => {
    return every.filter((n) => shape.layer[n] < 2).sort((p, q) => shape.size[q] - shape.size[p]);
  }, [shape]);
  const paint = useMemo(() => {
    const colours = LAYERS.map((_, k) => rgb(COLOURS[k]));
    return { colours, line: rgb("edge"), accent: rgb("strong"), page: colour("page"), ink: colour("ink") };
  }, [theme]);
  const near = useMemo(() => (chosen < 0 ? null : beside(shape, chosen, seq)), [shape, chosen, seq]);
  const layers = Number(address.query.layers ?? 15);
  const since = second !== null && second < seq ? second : -1;
  const show = (n: number) =>
    go({ page: "graph", id: n < 0 ? "" : nodes.col.id[n], query: { layers: address.query.layers ?? "" } });
  const { place, life, layer: kinds } = shape;
  const seen = (n: number) => life[2 * n] <= seq && seq < life[2 * n + 1] && layers & (1 << kinds[n]);

  const fit = (some: number[]) => {
    if (!canvas.current || !some.length) return;
    const [left, right] = bounds(some.map((n) => place[2 * n]));
    const [top, bottom] = bounds(some.map((n) => place[2 * n + 1]));
    const [w, h] = [canvas.current.clientWidth - 80, canvas.current.clientHeight - 80];
    const scale = Math.min(w / Math.max(0.04, right - left), h / Math.max(0.04, bottom - top), 4000);
    camera.current = { x: (left + right) / 2, y: (top + bottom) / 2, scale };
  };

  const draw = (hasty = Math.max(edges.rows, nodes.rows) > SAMPLE) => {
    clearTimeout(calm.current);
    if (hasty) calm.current = window.setTimeout(() => redraw.current(false), CALM_MS);
    const [box, over] = [canvas.current, names.current];
    if (!box || !over || !layer.current) return;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [Math.round(box.clientWidth * ratio), Math.round(box.clientHeight * ratio)];
    for (const one of [box, over])
      if (one.width !== width || one.height !== height) Object.assign(one, { width, height });
    layer.current.draw({ seq, since, ...camera.current, ...paint, layers, ratio, hasty });
    write(over, ratio);
  };
  const redraw = useRef(draw);
  redraw.current = draw;

  /** Names beside their nodes, as many as have room. */
  const write = (box: HTMLCanvasElement, ratio: number) => {
    const ctx = box.getContext("2d") as CanvasRenderingContext2D;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, box.width, box.height);
    const font = { font: "12px system-ui, sans-serif", textBaseline: "middle", lineWidth: 3 };
    Object.assign(ctx, { ...font, strokeStyle: paint.page, fillStyle: paint.ink });
    const { x, y, scale } = camera.current;
    const [w, h] = [box.width / ratio, box.height / ratio];
    const px = (n: number) => (place[2 * n] - x) * scale + w / 2;
    const py = (n: number) => (place[2 * n + 1] - y) * scale + h / 2;
    const inside = (n: number) => seen(n) && px(n) > 0 && px(n) < w && py(n) > 0 && py(n) < h;
    const reach = (n: number) => radius(shape.size[n], scale, near !== null);
    const over = (n: number): Rect => [px(n) - reach(n), py(n) - reach(n), px(n) + reach(n), py(n) + reach(n)];
    const wanted = (near ? [chosen, ...near.nodes] : skeleton).filter(inside).slice(0, NAMES);
    const taken = wanted.map(over);
    const small = nodes.rows < 2_000 ? every.filter(inside).map(over) : []; // names lie on these last
    for (const n of wanted) {
      const text = visible(brief(nodes.col.label[n] || short(nodes.col.id[n]), 33));
      const width = ctx.measureText(text).width;
      const [right, left, middle] = [px(n) + reach(n) + 4, px(n) - reach(n) - 4 - width, px(n) - width / 2];
      const [below, above] = [py(n) + reach(n) + 10, py(n) - reach(n) - 10];
      const line = (at: number, y: number): Rect => [at, y - 8, at + width, y + 8];
      const lines = [line(right, py(n)), line(left, py(n)), line(middle, below), line(middle, above)];
      const free = lines.filter((r) => r[0] > 0 && r[2] < w && !taken.some(clash(r)));
      const rect = free.find((r) => !small.some(clash(r))) ?? free[0];
      if (!rect) continue;
      taken.push(rect);
      ctx.strokeText(text, rect[0], rect[1] + 8);
      ctx.fillText(text, rect[0], rect[1] + 8);
    }
  };

  useEffect(() => {
    if (!canvas.current) return;
    layer.current = layerOf(canvas.current, shape);
    setWithout(!layer.current);
    const watch = new ResizeObserver(() => redraw.current());
    watch.observe(canvas.current);
    return () => (watch.disconnect(), clearTimeout(calm.current));
  }, [shape]);
  useEffect(() => fit(near ? [chosen, ...near.nodes] : every), [chosen, shape]);
  useEffect(() => {
    const lit = new Uint8Array(nodes.rows);
    for (const n of near?.nodes ?? []) lit[n] = 2;
    lit[chosen] = 3;
    layer.current?.focus(near && { nodes: lit, edges: near.edges });
  }, [near, shape]);
  useEffect(() => draw(), [seq, since, layers, paint, near, shape]);

  const zoom = (by: number, px = 0, py = 0) => {
    const { x, y, scale: was } = camera.current;
    const scale = Math.max(60, Math.min(60_000, was * by));
    camera.current = { x: x + px / was - px / scale, y: y + py / was - py / scale, scale };
    draw();
  };
  const pan = (dx: number, dy: number) => {
    camera.current.x -= dx / camera.current.scale;
    camera.current.y -= dy / camera.current.scale;
    draw();
  };
  const pick = (px: number, py: number) => {
    const { x, y, scale } = camera.current;
    const far = (n: number) => ((place[2 * n] - x) * scale - px) ** 2 + ((place[2 * n + 1] - y) * scale - py) ** 2;
    show(every.reduce((best, n) => (far(n) < (best < 0 ? 14 ** 2 : far(best)) && seen(n) ? n : best), -1));
  };
  const fingers = useFingers({ pan, zoom, pick });
  const key = (e: KeyboardEvent) =>
    pressed(e, {
      "+": () => zoom(1.4),
      "=": () => zoom(1.4),
      "-": () => zoom(1 / 1.4),
      ArrowLeft: () => pan(60, 0),
      ArrowRight: () => pan(-60, 0),
      ArrowUp: () => pan(0, 60),
      ArrowDown: () => pan(0, -60),
      Escape: () => show(-1),
    });
  const label = "Graph: arrows move it, plus and minus zoom. Find a node above to hear its neighbours.";
  const how = "Find a node above: its neighbours are listed beside.";
  return (
    <div class="picture" role="application" aria-label={label} tabIndex={0} onKeyDown={key}>
      <canvas ref={canvas} aria-hidden="true" {...fingers} />
      <canvas ref={names} class="names" aria-hidden="true" />
      {without && <Empty title="This browser draws no WebGL2" children={how} />}
      <div class="zoom">
        <button aria-label="Zoom in" onClick={() => zoom(1.4)} children="+" />
        <button aria-label="Zoom out" onClick={() => zoom(1 / 1.4)} children="−" />
        <button aria-label="All of it" onClick={() => (fit(every), draw())} children="All" />
      </div>
      {since >= 0 && <p class="since">New between B and A: in this colour.</p>}
    </div>
  );
}

/** One finger, or the mouse, moves a picture; two fingers, or the wheel, zoom it; a tap picks what is there. */
function useFingers({ pan, zoom, pick }: Record<"pan" | "zoom" | "pick", (...by: number[]) => void>) {
  const held = useRef(new Map<number, { x: number; y: number; moved: number }>());
  const from = (e: MouseEvent): [number, number] => {
    const box = (e.currentTarget as HTMLElement).getBoundingClientRect();
    return [e.clientX - box.left - box.width / 2, e.clientY - box.top - box.height / 2];
  };
  const let_ = (e: PointerEvent) => held.current.delete(e.pointerId);
  return {
    onPointerDown(e: PointerEvent) {
      (e.currentTarget as HTMLElement).setPointerCapture(e.pointerId);
      held.current.set(e.pointerId, { x: e.clientX, y: e.clientY, moved: 0 });
    },
    onPointerMove(e: PointerEvent) {
      const was = held.current.get(e.pointerId);
      if (!was) return;
      const [dx, dy] = [e.clientX - was.x, e.clientY - was.y];
      const now = { x: e.clientX, y: e.clientY, moved: was.moved + Math.abs(dx) + Math.abs(dy) };
      const rest = [...held.current].find(([id]) => id !== e.pointerId)?.[1];
      held.current.set(e.pointerId, now);
      if (!rest) return pan(dx, dy);
      const apart = (finger: { x: number; y: number }) => Math.max(1, Math.hypot(finger.x - rest.x, finger.y - rest.y));
      zoom(apart(now) / apart(was));
    },
    onPointerUp(e: PointerEvent) {
      if ((held.current.get(e.pointerId)?.moved ?? 99) < 5) pick(...from(e));
      let_(e);
    },
    onPointerCancel: let_,
    onWheel(e: WheelEvent) {
      e.preventDefault();
      zoom(Math.exp(-e.deltaY / 400), ...from(e));
    },
  };
}
