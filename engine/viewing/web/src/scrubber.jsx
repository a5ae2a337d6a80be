/** The bar under every page: one handle shows a moment, a second one compares. */
import { h } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { moment, named, read, written } from "./address.js";
import { place, seqAt, stages, step } from "./time.js";
import { useTables, useView } from "./view.js";
import { count } from "./words.js";

const SIGNS = /** @type {Record<string, string>} */ ({
  rollback: "↶", quarantine: "■", release: "□", split: "Y", exam: "◆", resumed: "▸", repaired: "✚", finished: "⚑",
});

export function Scrubber() {
  const view = useView();
  const { index, seq, other, address } = view;
  const box = /** @type {{current: HTMLDivElement | null}} */ (useRef(null));
  const held = useRef("at");
  const track = useMemo(() => stages(index), [index]);
  const { value } = useTables(index, "overview");
  const second = other && other.index === index ? other.seq : null;

  const move = (/** @type {string} */ handle, /** @type {number} */ to) =>
    view.go({ query: { [handle]: handle === "at" && to >= index.last ? "" : named(index, to) } }, true);

  /** @param {PointerEvent} event @param {boolean} [begins] */
  const drag = (event, begins) => {
    if (!box.current || (!begins && !(event.buttons & 1))) return;
    const { left, width } = box.current.getBoundingClientRect();
    const share = Math.max(0, Math.min(1, (event.clientX - left) / width));
    if (begins) {
      box.current.setPointerCapture(event.pointerId);
      const nearer = second !== null && Math.abs(place(track, second) - share) < Math.abs(place(track, seq) - share);
      held.current = nearer ? "vs" : "at";
    }
    const near = index.markers.find((marker) => Math.abs(place(track, marker.seq) - share) * width < 5);
    move(held.current, near ? near.seq : seqAt(track, share));
  };

  /** @param {KeyboardEvent} event @param {string} handle */
  const key = (event, handle) => {
    const now = moment(index, read(location.hash).query[handle]) ?? index.last; // keys may come faster than pages
    const to = {
      ArrowRight: () => (event.shiftKey ? now + 1 : step(index, now, 1)), ArrowUp: () => step(index, now, 1),
      ArrowLeft: () => (event.shiftKey ? now - 1 : step(index, now, -1)), ArrowDown: () => step(index, now, -1),
      PageUp: () => step(index, now, 1, true), PageDown: () => step(index, now, -1, true),
      Home: () => step(index, 0, 1), End: () => index.last,
    }[event.key];
    if (!to) return;
    event.preventDefault();
    move(handle, Math.max(0, Math.min(index.last, to())));
  };

  const marks = useMemo(() => {
    /** @type {Map<string, {left: number, sign: string, kind: string, texts: string[]}>} */
    const grouped = new Map();
    for (const mark of index.marks) {
      const left = place(track, mark.seq);
      const name = `${mark.kind} ${Math.round(left * 120)}`;
      const group = grouped.get(name) ?? { left, sign: SIGNS[mark.kind] ?? "·", kind: mark.kind, texts: [] };
      group.texts.push(`${mark.text || mark.kind} (event ${count(mark.seq)})`);
      grouped.set(name, group);
    }
    return [...grouped.values()];
  }, [index, track]);

  const line = useMemo(() => {
    const t = value?.overview;
    if (!t) return "";
    const points = [];
    for (let n = 0; n < t.rows; n++)
      if (t.col.anchor_total[n]) {
        const y = (30 - 28 * (t.col.anchor_correct[n] / t.col.anchor_total[n])).toFixed(2);
        if (points.length) points.push(`H${(1000 * place(track, t.col.from[n])).toFixed(1)}V${y}`);
        else points.push(`M${(1000 * place(track, t.col.from[n])).toFixed(1)} ${y}`);
      }
    return points.length ? `${points.join("")}H1000` : "";
  }, [value, track]);

  const every = Math.ceil(track.length / 16);
  const handle = (/** @type {string} */ name, /** @type {number} */ now, /** @type {string} */ letter) => (
    <div class={`handle ${name}`} style={{ left: `${100 * place(track, now)}%` }} role="slider" tabIndex={0}
      aria-label={name === "at" ? "Moment shown" : "Moment compared with"} aria-valuemin={0} aria-valuemax={index.last} aria-valuenow={now}
      aria-valuetext={`${written(named(index, now))}, event ${count(now)} of ${count(index.last)}`} onKeyDown={(e) => key(e, name)}>
      <span>{letter}</span>
    </div>
  );

  return (
    <footer class="scrubber" aria-label="Time">
      <div class="track" ref={box} onPointerDown={(e) => drag(e, true)} onPointerMove={(e) => drag(e)}>
        <svg viewBox="0 0 1000 32" preserveAspectRatio="none" aria-hidden="true">
          <path d={line} class="anchors" />
        </svg>
        {track.map((stage, n) => (
          <div key={n} class="stage" style={{ left: `${100 * stage.left}%`, width: `${100 * stage.width}%` }}>
            {n % every === 0 && <span>{stage.label}</span>}
          </div>
        ))}
        <div class="future" style={{ left: `${100 * place(track, seq)}%` }} />
        {marks.map((mark, n) => (
          <span key={n} class={`mark ${mark.kind}`} style={{ left: `${100 * mark.left}%` }} title={mark.texts.slice(0, 12).join("\n")} aria-hidden="true">{mark.sign}</span>
        ))}
        {second !== null && handle("vs", second, "B")}
        {handle("at", seq, second === null ? "" : "A")}
      </div>
      <div class="moments">
        <Moment name="at" now={seq} letter={other ? "A" : ""} move={move} />
        {second !== null && <Moment name="vs" now={second} letter="B" move={move} />}
        {other && second === null && <span class="muted">B: {other.index.run}, {named(other.index, other.seq)}</span>}
        <button type="button" aria-pressed={other !== null} onClick={() => compare(view)}>{other ? "One moment" : "Compare"}</button>
      </div>
    </footer>
  );
}

/** @param {import("./view.js").View} view */
export function compare(view) {
  const { index, other, seq } = view;
  if (other) view.go({ query: { vs: "", with: "" } });
  else view.go({ query: { vs: named(index, seq >= index.last ? (index.markers[0]?.seq ?? 0) : index.last) } });
}

/** @param {{name: string, now: number, letter: string, move: (handle: string, to: number) => void}} props */
function Moment({ name, now, letter, move }) {
  const { index } = useView();
  const here = named(index, now);
  const listed = here === "latest" || index.markers.some((marker) => marker.name === here);
  return (
    <div class="moment">
      {letter && <span class={`letter ${name}`} aria-hidden="true">{letter}</span>}
      <button type="button" class="step" aria-label={`${letter} previous moment`} onClick={() => move(name, step(index, now, -1))}>‹</button>
      <select aria-label={`${letter} moment`} value={here} onChange={(e) => move(name, e.currentTarget.value === "latest" ? index.last : (index.markers.find((marker) => marker.name === e.currentTarget.value)?.seq ?? now))}>
        {!listed && <option value={here}>{here}</option>}
        {index.markers.map((marker) => <option key={marker.name} value={marker.name}>{written(marker.name)}</option>)}
        <option value="latest">latest</option>
      </select>
      <button type="button" class="step" aria-label={`${letter} next moment`} onClick={() => move(name, step(index, now, 1))}>›</button>
      <span class="muted seq">event {count(now)} of {count(index.last)}</span>
    </div>
  );
}
