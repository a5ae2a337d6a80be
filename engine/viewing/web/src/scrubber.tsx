/** The bar under every page: one handle shows a moment, a second one compares. */
import { useMemo, useRef, useState } from "preact/hooks";
import { moment, named, read } from "./address";
import { grouped } from "./data";
import { muted } from "./marks";
import { options } from "./parts";
import { place, seqAt, stages, step } from "./time";
import { pressed, useView, type View } from "./view";
import { count } from "./words";

/** What marks each kind of event on the bar. */
export const SIGNS: Record<string, string> = {
  rollback: "↶",
  quarantine: "■",
  release: "□",
  split: "Y",
  exam: "◆",
  resumed: "▸",
  repaired: "✚",
  finished: "⚑",
};

export function Scrubber() {
  const view = useView();
  const { index, seq, other, second } = view;
  const box = useRef<HTMLDivElement>(null);
  const held = useRef("at");
  const track = useMemo(() => stages(index), [index]);
  const left = (at: number) => ({ left: `${100 * place(track, at)}%` });
  const move = (handle: string, to: number) =>
    view.go({ query: { [handle]: handle === "at" && to >= index.last ? "" : named(index, to) } }, true);

  const drag = (event: PointerEvent, begins = false) => {
    if (!box.current || (!begins && !(event.buttons & 1))) return;
    const room = box.current.getBoundingClientRect();
    const share = Math.max(0, Math.min(1, (event.clientX - room.left) / room.width));
    const far = (to: number) => Math.abs(place(track, to) - share);
    if (begins) {
      box.current.setPointerCapture(event.pointerId);
      held.current = second !== null && far(second) < far(seq) ? "vs" : "at";
    }
    const near = index.markers.find((marker) => far(marker.seq) * room.width < 8);
    move(held.current, near ? near.seq : seqAt(track, share));
  };

  const key = (event: KeyboardEvent, handle: string) => {
    const now = moment(index, read(location.hash).query[handle]) ?? index.last; // keys may come faster than pages
    const to = (at: number) => () => move(handle, Math.max(0, Math.min(index.last, at)));
    pressed(event, {
      ArrowRight: to(event.shiftKey ? now + 1 : step(index, now, 1)),
      ArrowUp: to(step(index, now, 1)),
      ArrowLeft: to(event.shiftKey ? now - 1 : step(index, now, -1)),
      ArrowDown: to(step(index, now, -1)),
      PageUp: to(step(index, now, 1, true)),
      PageDown: to(step(index, now, -1, true)),
      Home: to(step(index, 0, 1)),
      End: to(index.last),
    });
  };

  /** The share of anchors that are right, as steps. */
  const line = useMemo(() => {
    const x = (at: number) => (1000 * place(track, at)).toFixed(1);
    const y = (share: number) => (30 - 28 * share).toFixed(2);
    const steps = index.anchors.map(([at, share], n) => (n ? `H${x(at)}V${y(share)}` : `M${x(at)} ${y(share)}`));
    return steps.length ? `${steps.join("")}H1000` : "";
  }, [index, track]);
  // Marks of a kind that lie closer than one can see are one.
  const marks = useMemo(
    () => [...grouped(index.marks, ({ kind, seq: at }) => `${kind} ${Math.round(place(track, at) * 120)}`).values()],
    [index, track],
  );
  const mark = (some: typeof index.marks, n: number) => {
    const [{ kind, seq: at }] = some;
    const texts = some.slice(0, 12).map((one) => `${one.text || one.kind} (event ${count(one.seq)})`);
    const rest = { title: texts.join("\n"), "aria-hidden": "true", children: SIGNS[kind] ?? "·" } as const;
    return <span key={n} class={`mark ${kind}`} style={left(at)} {...rest} />;
  };

  const apart = Math.ceil(track.length / 256); // of more one sees no lines
  const seen = track.filter((_, n) => n % apart === 0);
  const width = (n: number) => `${100 * ((seen[n + 1]?.left ?? 1) - seen[n].left)}%`;
  const handle = (name: string, now: number, letter: string) => (
    <div
      class={`handle ${name}`}
      style={left(now)}
      role="slider"
      tabIndex={0}
      aria-label={name === "at" ? "Moment shown" : "Moment compared with"}
      aria-valuemin={0}
      aria-valuemax={index.last}
      aria-valuenow={now}
      aria-valuetext={`${named(index, now)}, event ${count(now)} of ${count(index.last)}`}
      onKeyDown={(e) => key(e, name)}
      children={<span>{letter}</span>}
    />
  );
  return (
    <footer class="scrubber" aria-label="Time">
      <div class="track" ref={box} onPointerDown={(e) => drag(e, true)} onPointerMove={(e) => drag(e)}>
        <svg
          viewBox="0 0 1000 32"
          preserveAspectRatio="none"
          aria-hidden="true"
          children={<path d={line} class="anchors" />}
        />
        {seen.map((stage, n) => (
          <div key={n} class="stage" style={{ left: `${100 * stage.left}%`, width: width(n) }}>
            {n % Math.ceil(seen.length / 16) === 0 && <span>{stage.label}</span>}
          </div>
        ))}
        <div class="future" style={left(seq)} />
        {marks.map(mark)}
        {second !== null && handle("vs", second, "B")}
        {handle("at", seq, second === null ? "" : "A")}
      </div>
      <div class="moments">
        <Moment name="at" now={seq} letter={other ? "A" : ""} move={move} />
        {second !== null && <Moment name="vs" now={second} letter="B" move={move} />}
        {other && second === null && muted(`B: ${other.index.run}, ${named(other.index, other.seq)}`)}
        <button
          aria-pressed={other !== null}
          onClick={() => compare(view)}
          children={other ? "One moment" : "Compare"}
        />
      </div>
    </footer>
  );
}

/** Take a second moment, or leave it. */
export function compare({ index, other, seq, go }: View) {
  const before = step(index, seq, -1, true);
  const second = named(index, before < seq ? before : index.last);
  go({ query: other ? { vs: "", with: "" } : { vs: second } });
}

type Shown = { name: string; now: number; letter: string; move: (handle: string, to: number) => void };

function Moment({ name, now, letter, move }: Shown) {
  const { index } = useView();
  const here = named(index, now);
  const [choosing, choose] = useState(false); // a long run has thousands of moments
  const all = choosing ? [...index.markers.map((marker) => marker.name), "latest"] : [];
  const names = all.includes(here) ? all : [here, ...all];
  const begin = () => choose(true);
  const heard = { "aria-label": `${letter} moment`, onPointerDown: begin, onFocus: begin, onBlur: () => choose(false) };
  const set = (to: string) => move(name, moment(index, to) ?? now);
  const arrow = (text: string, label: string, way: 1 | -1) => (
    <button
      class="step"
      aria-label={`${letter} ${label}`}
      onClick={() => move(name, step(index, now, way))}
      children={text}
    />
  );
  return (
    <div class="moment">
      {letter && <span class={`letter ${name}`} aria-hidden="true" children={letter} />}
      {arrow("‹", "previous moment", -1)}
      {options(heard, here, names, set)}
      {arrow("›", "next moment", 1)}
      <span class="muted seq">{`event ${count(now)} of ${count(index.last)}`}</span>
    </div>
  );
}
