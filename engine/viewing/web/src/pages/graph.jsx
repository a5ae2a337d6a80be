/** The knowledge graph at a moment: four layers, each node where it always is. */
import { Fragment, h } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Bar, colour, useTheme } from "../charts.jsx";
import { at } from "../data.js";
import { SAMPLE, layer as makeLayer, radius } from "../gl.js";
import { A, Empty, Facts, Loading, Long, Section, Seq } from "../parts.jsx";
import { useTables, useView } from "../view.js";
import { count, decimal, number, percent, short, words } from "../words.js";

const LAYERS = ["capability", "task", "experience", "environment"];
const SIGNS = ["●", "■", "◆", "▲"];
const WIDE = 1.6; // screens are wider than high
const COLOURS = ["accent", "second", "third", "fourth"];

/** @typedef {import("../data.js").Table} Table */

export function Graph() {
  const view = useView();
  const { index, seq, address } = view;
  const { value, error } = useTables(index, "nodes", "edges", "mastery", "memories");
  if (!value) return <Loading error={error} />;
  const { nodes, edges, mastery, memories } = value;
  if (!nodes.rows) return <Empty title="There is no graph in this run">{index.kind === "baseline" ? "A baseline learns nothing." : "Its first nodes come with the ontology, at the start of a run."}</Empty>;
  const chosen = address.id ? nodes.col.id.indexOf(address.id) : -1;
  const q = address.query.q ?? "";
  const alive = at(nodes, seq);
  const linked = at(edges, seq);
  const own = linked.filter((n) => !edges.col.derived[n]);
  return (
    <Fragment>
      <Section title="Graph" tools={<span class="muted">{number(alive.length, "node")}, {number(own.length, "edge")}, {number(linked.length - own.length, "link")} of memories</span>}>
        <Find nodes={nodes} alive={alive} q={q} />
        {address.id && chosen < 0 && <p class="problem">This graph has no node {address.id}.</p>}
        <div class={`graph ${chosen >= 0 ? "chosen" : ""}`}>
          <Picture nodes={nodes} edges={edges} chosen={chosen} />
          {chosen >= 0 && <Node n={chosen} nodes={nodes} edges={edges} mastery={mastery} memories={memories} />}
        </div>
      </Section>
      <Skills mastery={mastery} />
    </Fragment>
  );
}

/** @param {{nodes: Table, alive: number[], q: string}} props */
function Find({ nodes, alive, q }) {
  const view = useView();
  const c = nodes.col;
  const needle = q.toLowerCase();
  const hits = needle ? alive.filter((n) => c.label[n].toLowerCase().includes(needle) || c.id[n].toLowerCase().includes(needle)) : [];
  const shown = Number(view.address.query.layers ?? 15);
  const counts = [0, 0, 0, 0];
  for (const n of alive) counts[LAYERS.indexOf(c.layer[n])]++;
  return (
    <Fragment>
      <div class="filters">
        <label class="field wide"><span>Find a node</span>
          <input type="search" value={q} placeholder="a skill, a task type, words of a memory" spellcheck={false} data-search="" onInput={(e) => view.go({ query: { q: e.currentTarget.value } }, true)} />
        </label>
        <fieldset class="layers">
          <legend>Layers</legend>
          {LAYERS.map((layer, k) => (
            <label key={layer}>
              <input type="checkbox" checked={Boolean(shown & (1 << k))} onChange={() => view.go({ query: { layers: (shown ^ (1 << k)) === 15 ? "" : String(shown ^ (1 << k)) } }, true)} />
              <span class={`sign ${COLOURS[k]}`} aria-hidden="true">{SIGNS[k]}</span>{layer} <span class="muted num">{count(counts[k])}</span>
            </label>
          ))}
        </fieldset>
      </div>
      {needle && (
        <ul class="hits" aria-label="Nodes found">
          {hits.slice(0, 12).map((n) => <li key={n}><A to={{ page: "graph", id: c.id[n], query: { layers: view.address.query.layers ?? "" } }}><span class={`sign ${COLOURS[LAYERS.indexOf(c.layer[n])]}`} aria-hidden="true">{SIGNS[LAYERS.indexOf(c.layer[n])]}</span><bdi>{c.label[n] || short(c.id[n])}</bdi> <span class="muted">{words(c.kind[n])}</span></A></li>)}
          <li class="muted">{hits.length ? (hits.length > 12 ? `and ${count(hits.length - 12)} more` : "") : "No node at this moment has these words."}</li>
        </ul>
      )}
    </Fragment>
  );
}

/** @param {Table} nodes @param {Table} edges @returns {import("../gl.js").Shape} */
function shaped(nodes, edges) {
  const [n, e] = [nodes.col, edges.col];
  const degree = new Uint32Array(nodes.rows);
  for (let k = 0; k < edges.rows; k++) degree[e.source[k]]++, degree[e.target[k]]++;
  const crowd = Math.max(0.45, Math.min(1, 20 / Math.sqrt(nodes.rows + 1)));
  return {
    x: Float32Array.from(n.x, (v) => v * WIDE), y: Float32Array.from(n.y),
    birth: Float32Array.from(n.from), death: Float32Array.from(n.from, (_, k) => n.to?.[k] ?? 3e38),
    layer: Uint8Array.from(n.layer, (v) => Math.max(0, LAYERS.indexOf(v))),
    size: Float32Array.from(degree, (d, k) => (n.layer[k] === "experience" ? 5 : 7 + Math.min(9, 2 * Math.log2(1 + d))) * crowd + 2),
    source: Uint32Array.from(e.source ?? []), target: Uint32Array.from(e.target ?? []),
    edgeBirth: Float32Array.from(e.from ?? []), edgeDeath: Float32Array.from(e.from ?? [], (_, k) => e.to?.[k] ?? 3e38),
  };
}

/** @param {string} token */
const rgb = (token) => {
  const found = colour(token).match(/[\d.]+/g) ?? ["0", "0", "0"];
  return found.slice(0, 3).map((v) => Number(v) / (colour(token).startsWith("color(") ? 1 : 255));
};

/** @param {{nodes: Table, edges: Table, chosen: number}} props */
function Picture({ nodes, edges, chosen }) {
  const view = useView();
  const { seq, other, index } = view;
  const theme = useTheme();
  const canvas = /** @type {{current: HTMLCanvasElement | null}} */ (useRef(null));
  const names = /** @type {{current: HTMLCanvasElement | null}} */ (useRef(null));
  const layer = /** @type {{current: import("../gl.js").Layer | null}} */ (useRef(null));
  const camera = useRef({ x: 0, y: 0, scale: 0 });
  const held = useRef(/** @type {Map<number, {x: number, y: number, moved: number}>} */ (new Map()));
  const shape = useMemo(() => shaped(nodes, edges), [nodes, edges]);
  const skeleton = useMemo(() => Array.from(shape.x, (_, n) => n).filter((n) => shape.layer[n] < 2).sort((p, q) => shape.size[q] - shape.size[p]), [shape]);
  const layers = Number(view.address.query.layers ?? 15);
  const paint = useMemo(() => ({ colours: COLOURS.map(rgb), line: rgb("edge"), accent: rgb("strong") }), [theme]);
  const near = useMemo(() => (chosen < 0 ? null : neighbours(edges, chosen, seq)), [edges, chosen, seq]);
  const since = other && other.index === index && other.seq < seq ? other.seq : -1;

  const fit = (/** @type {number[] | null} */ some) => {
    const box = canvas.current;
    if (!box) return;
    const list = some ?? Array.from(shape.x, (_, n) => n);
    const xs = list.map((n) => shape.x[n]);
    const ys = list.map((n) => shape.y[n]);
    const [left, right, top, bottom] = [min(xs), max(xs), min(ys), max(ys)];
    const scale = Math.min((box.clientWidth - 80) / Math.max(0.04, right - left), (box.clientHeight - 80) / Math.max(0.04, bottom - top));
    camera.current = { x: (left + right) / 2, y: (top + bottom) / 2, scale: Math.min(scale, 4000) };
  };

  const rest = useRef(0);
  const draw = (hasty = Math.max(shape.source.length, shape.x.length) > SAMPLE) => {
    clearTimeout(rest.current);
    if (hasty) rest.current = setTimeout(() => redraw.current(false), 180);
    const box = canvas.current;
    if (!box || !layer.current) return;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [Math.round(box.clientWidth * ratio), Math.round(box.clientHeight * ratio)];
    for (const one of [box, names.current]) if (one && (one.width !== width || one.height !== height)) [one.width, one.height] = [width, height];
    layer.current.draw({ seq, since, ...camera.current, ...paint, layers, ratio, hasty });
    if (names.current) label(names.current, ratio);
  };

  const label = (/** @type {HTMLCanvasElement} */ box, /** @type {number} */ ratio) => {
    const ctx = box.getContext("2d");
    if (!ctx) return;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, box.width, box.height);
    ctx.font = "12px system-ui, sans-serif";
    ctx.textBaseline = "middle";
    const { x, y, scale } = camera.current;
    const [w, h_] = [box.width / ratio, box.height / ratio];
    const c = nodes.col;
    const seen = (/** @type {number} */ n) => c.from[n] <= seq && (c.to?.[n] == null || seq < c.to[n]) && layers & (1 << shape.layer[n]);
    const inside = (/** @type {number} */ n) => seen(n) && Math.abs(shape.x[n] - x) * scale < w / 2 && Math.abs(shape.y[n] - y) * scale < h_ / 2;
    const wanted = (near ? [chosen, ...near.nodes] : skeleton).filter(inside).slice(0, 60);
    /** @type {number[][]} */
    const taken = [];
    const [ink, page] = [colour("ink"), colour("page")];
    for (const n of wanted) {
      const whole = c.label[n] || short(c.id[n]);
      const text = whole.length > 34 ? `${whole.slice(0, 33)}…` : whole;
      const [px, py] = [(shape.x[n] - x) * scale + w / 2, (shape.y[n] - y) * scale + h_ / 2];
      const width = ctx.measureText(text).width;
      const beside = radius(shape.size[n], scale, near !== null) + 4;
      const left = px + beside + width > w ? px - beside - width : px + beside;
      const rect = [left - 2, py - 8, left + width + 2, py + 8];
      if (px < 0 || py < 0 || px > w || py > h_ || taken.some((t) => rect[0] < t[2] && t[0] < rect[2] && rect[1] < t[3] && t[1] < rect[3])) continue;
      taken.push(rect);
      ctx.lineWidth = 3;
      ctx.strokeStyle = page;
      ctx.strokeText(text, left, py);
      ctx.fillStyle = ink;
      ctx.fillText(text, left, py);
    }
  };

  useEffect(() => {
    if (!canvas.current) return;
    layer.current = makeLayer(canvas.current, shape);
    if (!camera.current.scale) fit(null);
    const watch = new ResizeObserver(() => redraw.current());
    watch.observe(canvas.current);
    return () => watch.disconnect();
  }, [shape]);
  const redraw = useRef(draw);
  redraw.current = draw;
  useEffect(() => {
    if (near) {
      const lit = new Uint8Array(nodes.rows);
      for (const n of near.nodes) lit[n] = 2;
      lit[chosen] = 3;
      const litEdges = new Uint8Array(edges.rows);
      for (const k of near.edges) litEdges[k] = 2;
      layer.current?.focus(lit, litEdges);
    } else layer.current?.focus(null, null);
    draw();
  }, [near, shape]);
  useEffect(() => {
    fit(near ? [chosen, ...near.nodes] : null);
    draw();
  }, [chosen, shape]);
  useEffect(() => draw(), [seq, since, layers, theme]);
  useEffect(() => () => clearTimeout(rest.current), []);

  const zoom = (/** @type {number} */ by, /** @type {number} */ px = 0, /** @type {number} */ py = 0) => {
    const cam = camera.current;
    const scale = Math.max(60, Math.min(60_000, cam.scale * by));
    cam.x += px / cam.scale - px / scale;
    cam.y += py / cam.scale - py / scale;
    cam.scale = scale;
    draw();
  };
  const pan = (/** @type {number} */ dx, /** @type {number} */ dy) => {
    camera.current.x -= dx / camera.current.scale;
    camera.current.y -= dy / camera.current.scale;
    draw();
  };
  const from = (/** @type {MouseEvent} */ e) => {
    const box = /** @type {HTMLCanvasElement} */ (canvas.current).getBoundingClientRect();
    return [e.clientX - box.left - box.width / 2, e.clientY - box.top - box.height / 2];
  };
  const pick = (/** @type {MouseEvent} */ e) => {
    const [px, py] = from(e);
    const { x, y, scale } = camera.current;
    let best = -1;
    let least = 14 ** 2;
    for (let n = 0; n < nodes.rows; n++) {
      if (shape.birth[n] > seq || seq >= shape.death[n] || !(layers & (1 << shape.layer[n]))) continue;
      const d = ((shape.x[n] - x) * scale - px) ** 2 + ((shape.y[n] - y) * scale - py) ** 2;
      if (d < least) [best, least] = [n, d];
    }
    view.go({ page: "graph", id: best < 0 ? "" : nodes.col.id[best], query: { layers: view.address.query.layers ?? "" } });
  };
  const move = (/** @type {PointerEvent} */ e) => {
    const finger = held.current.get(e.pointerId);
    if (!finger) return;
    const rest = [...held.current].find(([id]) => id !== e.pointerId)?.[1];
    const [dx, dy] = [e.clientX - finger.x, e.clientY - finger.y];
    if (rest) {
      const was = Math.hypot(finger.x - rest.x, finger.y - rest.y);
      zoom(Math.hypot(e.clientX - rest.x, e.clientY - rest.y) / Math.max(1, was));
    } else pan(dx, dy);
    held.current.set(e.pointerId, { x: e.clientX, y: e.clientY, moved: finger.moved + Math.abs(dx) + Math.abs(dy) });
  };
  const key = (/** @type {KeyboardEvent} */ e) => {
    const act = { "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(1 / 1.4), ArrowLeft: () => pan(60, 0), ArrowRight: () => pan(-60, 0), ArrowUp: () => pan(0, 60), ArrowDown: () => pan(0, -60), Escape: () => view.go({ page: "graph", id: "" }) }[e.key];
    if (!act) return;
    e.preventDefault();
    act();
  };
  return (
    <div class="picture" role="application" aria-label="Graph: arrows move it, plus and minus zoom. Find a node above to hear its neighbours." tabIndex={0} onKeyDown={key}>
      <canvas ref={canvas} aria-hidden="true"
        onWheel={(e) => { e.preventDefault(); const [px, py] = from(e); zoom(Math.exp(-e.deltaY / 400), px, py); }}
        onPointerDown={(e) => { e.currentTarget.setPointerCapture(e.pointerId); held.current.set(e.pointerId, { x: e.clientX, y: e.clientY, moved: 0 }); }}
        onPointerMove={move}
        onPointerUp={(e) => { if ((held.current.get(e.pointerId)?.moved ?? 99) < 5) pick(e); held.current.delete(e.pointerId); }}
        onPointerCancel={(e) => held.current.delete(e.pointerId)} />
      <canvas ref={names} class="names" aria-hidden="true" />
      <div class="zoom">
        <button type="button" aria-label="Zoom in" onClick={() => zoom(1.4)}>+</button>
        <button type="button" aria-label="Zoom out" onClick={() => zoom(1 / 1.4)}>−</button>
        <button type="button" onClick={() => { fit(null); draw(); }}>All</button>
      </div>
      {since >= 0 && <p class="since"><span class="sign strong" aria-hidden="true">●</span> new between B and A</p>}
    </div>
  );
}

const min = (/** @type {number[]} */ list) => list.reduce((a, b) => Math.min(a, b), Infinity);
const max = (/** @type {number[]} */ list) => list.reduce((a, b) => Math.max(a, b), -Infinity);

/** @param {Table} edges @param {number} n @param {number} seq */
function neighbours(edges, n, seq) {
  const { source, target, from, to } = edges.col;
  const found = [];
  for (let k = 0; k < edges.rows; k++) if ((source[k] === n || target[k] === n) && from[k] <= seq && (to?.[k] == null || seq < to[k])) found.push(k);
  return { edges: found, nodes: [...new Set(found.map((k) => (source[k] === n ? target[k] : source[k])))] };
}

/** @param {{n: number, nodes: Table, edges: Table, mastery: Table, memories: Table}} props */
function Node({ n, nodes, edges, mastery, memories }) {
  const { seq, address } = useView();
  const c = nodes.col;
  const near = neighbours(edges, n, seq);
  const name = c.id[n].split("/").slice(1).join("/");
  const m = at(mastery, seq).find((k) => mastery.col.skill[k] === name || mastery.col.skill[k] === c.id[n]);
  /** @type {Map<string, number[]>} */
  const groups = new Map();
  for (const k of near.edges) {
    const out = edges.col.source[k] === n;
    const title = `${words(edges.col.kind[k])} ${out ? "→" : "←"}`;
    groups.set(title, [...(groups.get(title) ?? []), out ? edges.col.target[k] : edges.col.source[k]]);
  }
  const born = c.from[n] <= seq;
  return (
    <aside class="node" aria-label="Node">
      <h3><span class={`sign ${COLOURS[LAYERS.indexOf(c.layer[n])]}`} aria-hidden="true">{SIGNS[LAYERS.indexOf(c.layer[n])]}</span><bdi>{c.label[n] || short(c.id[n])}</bdi></h3>
      <p class="muted">{words(c.kind[n])}, {c.layer[n]} layer</p>
      {!born && <p class="problem">Not there yet at this moment.</p>}
      <Facts rows={[
        ["born", <Seq seq={c.from[n]} />],
        ...(m !== undefined && c.kind[n] === "skill" ? [
          ["mastery", <Bar share={mastery.col.mastery[m]} text={decimal(mastery.col.mastery[m])} />],
          ["evidence", `${count(mastery.col.successes[m])} right, ${count(mastery.col.failures[m])} wrong`],
          ...(mastery.col.parent[m] ? [["split from", <bdi>{mastery.col.parent[m]}</bdi>]] : []),
        ] : []),
      ]} />
      {memories.col.id?.includes(name) && <p><A to={{ page: "memories", id: name }}>Its text and effect</A></p>}
      {c.kind[n] === "task_type" && <p><A to={{ page: "questions", id: "", query: { type: name } }}>Questions of this type</A></p>}
      {[...groups].map(([title, list]) => (
        <Fragment key={title}>
          <h4>{title} <span class="muted">{count(list.length)}</span></h4>
          <ul>
            {list.slice(0, 40).map((k) => <li key={k}><A to={{ page: "graph", id: c.id[k], query: { layers: address.query.layers ?? "" } }}><span class={`sign ${COLOURS[LAYERS.indexOf(c.layer[k])]}`} aria-hidden="true">{SIGNS[LAYERS.indexOf(c.layer[k])]}</span><bdi>{c.label[k] || short(c.id[k])}</bdi></A></li>)}
            {list.length > 40 && <li class="muted">and {count(list.length - 40)} more</li>}
          </ul>
        </Fragment>
      ))}
      {!groups.size && <p class="muted">No neighbour at this moment.</p>}
      <p><A to={{ page: "graph", id: "", query: { layers: address.query.layers ?? "" } }}>The whole graph</A></p>
    </aside>
  );
}

/** @param {{mastery: Table}} props */
function Skills({ mastery }) {
  const { index, seq, other } = useView();
  const c = mastery.col;
  const rows = at(mastery, seq).sort((p, q) => c.mastery[q] - c.mastery[p]);
  if (!rows.length) return null;
  const then = other && other.index === index ? new Map(at(mastery, other.seq).map((n) => [c.skill[n], n])) : null;
  return (
    <Section title="Skills" note="Mastery rises faster than it falls (Eq. 2); evidence counts every answer alike." tools={<span class="muted">{number(rows.length, "skill")}</span>}>
      <Long label="Skills" rows={rows} columns={[
        { name: "skill", class: "grow", cell: (n) => <A to={{ page: "graph", id: c.skill[n].startsWith("skill/") ? c.skill[n] : `skill/${c.skill[n]}` }}><bdi>{c.skill[n]}</bdi></A> },
        { name: "mastery", class: "num", cell: (n) => <Bar share={c.mastery[n]} text={decimal(c.mastery[n])} /> },
        ...(then ? [{ name: "at B", class: "num", cell: (/** @type {number} */ n) => (then.has(c.skill[n]) ? decimal(c.mastery[/** @type {number} */ (then.get(c.skill[n]))]) : "–") }] : []),
        { name: "right", class: "num", cell: (n) => count(c.successes[n]) },
        { name: "wrong", class: "num", cell: (n) => count(c.failures[n]) },
        { name: "share", class: "num", cell: (n) => (c.successes[n] + c.failures[n] ? percent(c.successes[n] / (c.successes[n] + c.failures[n])) : "–") },
        { name: "template", title: "instruction", cell: (n) => <bdi>{c.prompt_template[n] ? String(c.prompt_template[n]).slice(0, 40) : "–"}</bdi> },
        { name: "strategy", cell: (n) => <bdi>{c.strategy[n] ? String(c.strategy[n]).slice(0, 40) : "–"}</bdi> },
      ]} />
    </Section>
  );
}
