/** The pieces that pages are made of. Every text is a text node: nothing here makes HTML of a string. */
import { Fragment, h } from "preact";
import type { ComponentChildren as Children } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { A, Seq, bdi, muted } from "./marks";
import { useView } from "./view";
import { count, visible, words } from "./words";

interface About {
  title: Children;
  note?: Children;
  tools?: Children;
  id?: string;
  children?: Children;
}

export const Section = ({ title, note, tools, id, children }: About) => (
  <section id={id}>
    <header class="row">
      <h2>{title}</h2>
      {typeof tools === "string" ? muted(tools) : tools}
    </header>
    {note && <p class="note">{note}</p>}
    {children}
  </section>
);

/** What is not there, and what to do. */
export const Empty = ({ title, children }: { title: string; children?: Children }) => (
  <div class="empty">
    <strong>{title}</strong>
    {children && <div>{children}</div>}
  </div>
);

/** Until something is read; `share`: of the log. */
export function Loading({ error, share = 0 }: { error: string; share?: number }) {
  if (error) return <Empty title="This part could not be shown" children={error} />;
  const says = share ? `Reading the log: ${Math.floor(100 * share)} %` : "Reading …";
  return <p class="muted loading" role="status" children={says} />;
}

/** The heading of a page about one thing. */
export const Title = (props: { page: string; all: string; id: string; title: Children; children?: Children }) => (
  <header class="title">
    <p class="crumbs">
      <A to={{ page: props.page, id: "" }} children={props.all} /> / {bdi(props.id)}
    </p>
    <h1>{props.title}</h1>
    {props.children}
  </header>
);

/** A line for the command line, to copy. */
export function Command({ text }: { text: string }) {
  const [said, say] = useState("");
  const select = () => say("Select it to copy");
  const copy = () => navigator.clipboard?.writeText(text).then(() => say("Copied"), select) ?? select();
  useEffect(() => say(""), [text]);
  return (
    <div class="command">
      <code>{text}</code>
      <button type="button" onClick={copy} aria-label={`Copy: ${text}`} children={said || "Copy"} />
    </div>
  );
}

/** A wide or high thing that scrolls by itself, with the keyboard too. */
export const Scroll = ({ label, kind = "", box, ...rest }: { label: string; kind?: string; [more: string]: any }) => (
  <div class={`scroll ${kind}`} role="region" aria-label={label} tabIndex={0} ref={box} {...rest} />
);

/** A column of a table: its title, how it looks, and what it shows of a row. */
export type Column = [title: Children, kind: "" | "num" | "grow" | "narrow" | "wrap", cell: (n: number) => Children];
type Maybe<T> = T | false | null | undefined;

interface Rows {
  columns: Maybe<Column>[];
  rows: number[];
  label: string;
  selected?: number | null;
  /** What is shown where there is no row. */
  none?: Children;
  /** Pixels; without it as high as the window lets it be. */
  height?: number;
}

const ROW = 33;
const TALLEST = 8_000_000; // browsers stop counting pixels above some 16 million

/** A table of any length: of a long one only the rows in sight are in the page. */
export function Table({ columns, rows, label, selected = null, none, height: asked }: Rows) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const shown = columns.filter((column) => !!column);
  const long = rows.length > 40;
  const height = asked ?? Math.max(360, innerHeight - 290);
  const room = long ? Math.ceil(height / ROW) + 8 : rows.length;
  const full = rows.length * ROW;
  const scale = Math.max(1, full / TALLEST);
  const first = long ? Math.max(0, Math.min(rows.length - room, Math.floor((top * scale) / ROW) - 3)) : 0;
  const seen = rows.slice(first, first + room);
  const above = scale > 1 ? Math.max(0, top - 3 * ROW) : first * ROW;
  useEffect(() => {
    const place = selected === null ? -1 : rows.indexOf(selected);
    if (box.current && long && place >= 0) box.current.scrollTop = Math.max(0, (place * ROW) / scale - height / 3);
  }, [selected]);
  if (!rows.length && none) return <Fragment>{none}</Fragment>;
  const spacer = (pixels: number) => long && <tr class="spacer" aria-hidden="true" style={{ height: `${pixels}px` }} />;
  return (
    <Scroll
      label={long ? `${label}, ${count(rows.length)} rows` : label}
      kind={long ? "long" : ""}
      style={long ? { height: `${height}px` } : undefined}
      box={box}
      onScroll={(e: Event) => setTop((e.currentTarget as HTMLElement).scrollTop)}>
      <table aria-rowcount={rows.length + 1}>
        <thead>
          <tr>
            {shown.map(([title, kind], k) => (
              <th key={k} scope="col" class={kind} children={title} />
            ))}
          </tr>
        </thead>
        <tbody>
          {spacer(above)}
          {seen.map((n, k) => (
            <tr key={n} aria-rowindex={first + k + 2} aria-selected={selected === n || undefined}>
              {shown.map(([, kind, cell], j) => (
                <td key={j} class={kind} children={cell(n)} />
              ))}
            </tr>
          ))}
          {spacer(Math.max(0, full / scale - above - seen.length * ROW))}
        </tbody>
      </table>
    </Scroll>
  );
}

interface Small {
  heads: Children[];
  rows: Children[][];
  kind?: string;
  /** What is said where there is no row. */
  none?: string;
}

/** A small table of texts and numbers: a heading for each column, the first cell of a row is its name. */
export const Plain = ({ heads, rows, kind = "", none }: Small) => {
  if (!rows.length && none) return <p class="muted">{none}</p>;
  return (
    <table class={`plain ${kind}`}>
      {heads.length > 0 && (
        <thead>
          <tr>
            {heads.map((head, k) => (
              <th key={k} scope="col" class={k ? "num" : ""} children={head} />
            ))}
          </tr>
        </thead>
      )}
      <tbody>
        {rows.map(([name, ...cells], n) => (
          <tr key={n}>
            <th scope="row">{name}</th>
            {cells.map((cell, k) => (
              <td key={k} class="num" children={cell} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
};

/** A list without bullets. */
export const List = ({ kind, items, label }: { kind: string; items: Children[]; label?: string }) => (
  <ul class={kind} aria-label={label}>
    {items.map((item, n) => (
      <li key={n} children={item} />
    ))}
  </ul>
);

/** What happened at some events. */
export const Log = ({ rows }: { rows: [seq: number, what: string, text: string][] }) => (
  <List
    kind="happened"
    items={rows.map(([seq, what, text]) => [
      <Seq seq={seq} />,
      <span>{[<strong>{bdi(what)}</strong>, " ", bdi(text)]}</span>,
    ])}
  />
);

/** Facts as a list of terms; what is false is left out. */
export const Facts = ({ rows, kind = "" }: { rows: Maybe<[Children, Children] | "">[]; kind?: string }) => (
  <dl class={`facts ${kind}`}>
    {rows.map((row, n) =>
      row ? (
        <div key={n}>
          <dt>{row[0]}</dt>
          <dd>{row[1]}</dd>
        </div>
      ) : null,
    )}
  </dl>
);

export const Figures = ({ figures }: { figures: [label: string, value: Children, note?: Children][] }) => (
  <dl class="figures">
    {figures.map(([label, value, note]) => (
      <div key={label}>
        <dt>{label}</dt>
        <dd>
          <span class="value">{value}</span>
          {note && <span class="note">{note}</span>}
        </dd>
      </div>
    ))}
  </dl>
);

/** A field whose value is a part of the address. */
export function Choice({ name, label, of, none = "all" }: { name: string; label: string; of: any[]; none?: string }) {
  const { address, go } = useView();
  const choices: [string, string][] = of.map((one) => (typeof one === "string" ? [one, words(one)] : one));
  return (
    <Select
      label={label}
      value={address.query[name] ?? ""}
      of={none ? [["", none], ...choices] : choices}
      set={(value) => go({ query: { [name]: value } }, true)}
    />
  );
}

interface Selected {
  label: string;
  value: string;
  of: [string, string][];
  set: (value: string) => void;
}

export const Select = ({ label, value, of, set }: Selected) => (
  <label class="field">
    <span>{label}</span>
    <select value={value} onChange={(e) => set(e.currentTarget.value)}>
      {of.map(([key, text]) => (
        <option key={key} value={key} children={text} />
      ))}
    </select>
  </label>
);

export function Search({ label = "Search", hint }: { label?: string; hint: string }) {
  const { address, go } = useView();
  return (
    <label class="field wide">
      <span>{label}</span>
      <input
        type="search"
        value={address.query.q ?? ""}
        placeholder={hint}
        spellcheck={false}
        data-search=""
        onInput={(e) => go({ query: { q: e.currentTarget.value } }, true)}
      />
    </label>
  );
}

/** A list that is empty: by its filters, or at this moment. */
export function Nothing({ title, known, filters }: { title: string; known: number; filters: string[] }) {
  if (!known) return <Empty title={title} children="Move the handle below to the right." />;
  const query = Object.fromEntries(filters.map((name) => [name, ""]));
  return <Empty title={title} children={<A to={{ query }} children={`Show all ${count(known)}`} />} />;
}

/** How much of a text is left, to ask for more of it. */
export function More({ left, more }: { left: number; more: () => void }) {
  if (left <= 0) return null;
  return <button type="button" onClick={more} children={`Show more: ${count(left)} characters left`} />;
}

/** A long text, its end folded away until it is asked for. */
export function Text({ text, limit = 6_000 }: { text: string; limit?: number }) {
  const [shown, setShown] = useState(limit);
  useEffect(() => setShown(limit), [text]);
  return (
    <Fragment>
      <pre class="text" dir="auto" children={visible(text.slice(0, shown))} />
      <More left={text.length - shown} more={() => setShown(shown + 50_000)} />
    </Fragment>
  );
}
