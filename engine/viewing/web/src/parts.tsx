/** The pieces that pages are made of. Every text is a text node: nothing here makes HTML of a string. */
import type { ComponentChildren as Children } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { needle } from "./address";
import { distinct, type Row } from "./data";
import { A, Seq, bdi, muted } from "./marks";
import { useView } from "./view";
import { capital, count, number, visible, words } from "./words";

type Maybe<T> = T | "" | false | null | undefined;

interface About {
  title: Children;
  note?: Children;
  tools?: Children;
  id?: string;
}

export const Section = ({ title, note, tools, id, children }: About & { children?: Children }) => (
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

/** What is not there yet at this moment. */
export const early = (title: string) => <Empty title={title} children="Move the handle below to the right." />;

/** The page of a thing that a run does not have. */
export const missing = (page: string, what: string) => (
  <Empty title={`This run has no ${what}`} children={<A to={{ page, id: "" }} children={`All ${page}`} />} />
);

/** Until something is read; `share`: of the log. */
export function Loading({ error, share = 0 }: { error: string; share?: number }) {
  if (error) return <Empty title="This part could not be shown" children={error} />;
  const says = share ? `Reading the log: ${Math.floor(100 * share)} %` : "Reading …";
  return <p class="muted loading" role="status" children={says} />;
}

/** The heading of a page about one thing. */
export const Title = (props: { page: string; id: string; title: Children; children?: Children }) => (
  <header class="title">
    <p class="crumbs">
      <A to={{ page: props.page, id: "" }} children={capital(props.page)} /> / {bdi(props.id)}
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
      <button onClick={copy} aria-label={`Copy: ${text}`} children={said || "Copy"} />
    </div>
  );
}

/** A wide or high thing that scrolls by itself, with the keyboard too. */
export const Scroll = ({ label, kind = "", box, ...rest }: { label: string; kind?: string; [more: string]: any }) => (
  <div class={`scroll ${kind}`} role="region" aria-label={label} tabIndex={0} ref={box} {...rest} />
);

/** A column of a table: its title, how it looks, and what it shows of a row. */
export type Column = [title: Children, kind: "" | "num" | "grow" | "narrow" | "wrap", cell: (n: number) => Children];

interface Rows {
  label: string;
  rows: number[];
  columns: Maybe<Column>[];
  selected?: number;
  /** What is shown where there is no row. */
  none?: Children;
  /** Pixels; without it as high as the window lets it be. */
  height?: number;
}

const ROW = 33;
const TALLEST = 8_000_000; // browsers stop counting pixels above some 16 million

/** A table of any length: of a long one only the rows in sight are in the page. */
function Table({ columns, rows, label, selected = -1, none, height: asked }: Rows) {
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
    const place = rows.indexOf(selected);
    if (box.current && long && place >= 0) box.current.scrollTop = Math.max(0, (place * ROW) / scale - height / 3);
  }, [selected]);
  if (!rows.length && none) return typeof none === "string" ? <p class="muted">{none}</p> : <>{none}</>;
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

type More = Omit<Rows, "rows" | "columns">;

export const table = (more: More, rows: number[], columns: Rows["columns"]) => (
  <Table {...more} rows={rows} columns={columns} />
);

/** A table in a section of its own. */
export const tabled = (about: About & Partial<More> & { title: string }, rows: number[], columns: Rows["columns"]) => (
  <Section {...about} children={table({ label: about.title, ...about }, rows, columns)} />
);

/** A choice of rows: its name in the address, what of a row it is about, and what to choose from if not from that. */
type Filter = [name: string, label: string, of: (n: number) => Maybe<string> | Maybe<string>[], from?: string[]];

interface Listed {
  title: string;
  note?: string;
  /** What one row is, and many. */
  one: string;
  many?: string;
  /** The rows at this moment, and what is said where there is none. */
  known: number[];
  early: string;
  search: [hint: string, texts: (n: number) => Maybe<string>[]];
  filters: Filter[];
  columns: Rows["columns"];
}

function Listing({ columns, ...about }: Listed) {
  const { one, known, search, filters } = about;
  const { query } = useView().address;
  const text = needle(query);
  const fits = (n: number) =>
    filters.every(([name, , of]) => !query[name] || [of(n)].flat().includes(query[name])) &&
    (!text || search[1](n).join("\n").toLowerCase().includes(text));
  const rows = known.filter(fits);
  const none = unfit(one, about.early, known.length, ...filters.map(([name]) => name));
  const part = rows.length < known.length ? `${count(rows.length)} of ` : "";
  return (
    <Section title={about.title} note={about.note} tools={part + number(known.length, one, about.many)}>
      <div class="filters">
        <Search hint={search[0]} />
        {filters.map(([name, label, of, from = known.flatMap(of) as string[]]) => (
          <Choice
            key={name}
            name={name}
            label={label}
            of={distinct([...from, query[name]]).map((one) => [one, words(one)])}
          />
        ))}
      </div>
      {table({ label: about.title, none }, rows, columns)}
    </Section>
  );
}

/** A table to search and to filter. */
export const listing = (about: Listed) => <Listing {...about} />;

/** A list that is empty: by its filters, or at this moment. */
export function unfit(one: string, soon: string, known: number, ...filters: string[]) {
  if (!known) return early(soon);
  const query = Object.fromEntries(["q", ...filters].map((name) => [name, ""]));
  return (
    <Empty
      title={`No ${one} fits these filters`}
      children={<A to={{ query }} children={`Show all ${count(known)}`} />}
    />
  );
}

/** A small table of texts and numbers: first its headings, if any; the first cell of a row is its name. */
export const plain = (kind: string, [heads, ...rows]: Maybe<Children[]>[]) => (
  <table class={`plain ${kind}`}>
    {heads && (
      <thead>
        <tr>
          {heads.map((head, k) => (
            <th key={k} scope="col" class={k ? "num" : ""} children={head} />
          ))}
        </tr>
      </thead>
    )}
    <tbody>
      {rows
        .filter((row) => !!row)
        .map(([name, ...cells], n) => (
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

/** A list without bullets; where it is empty, what is said of that. */
export function list<T>(kind: string, values: T[], show: (one: T, n: number) => Children, none = "") {
  if (none && !values.length) return <p class="muted">{none}</p>;
  const item = (one: T, n: number) => <li key={n} children={show(one, n)} />;
  return <ul class={kind} children={values.map(item)} />;
}

/** What happened at some events. */
export function log<T>(values: T[], show: (one: T) => [seq: number, what: string, text: string], none: string) {
  const line = ([seq, what, text]: [seq: number, what: string, text: string]) => [
    <Seq seq={seq} />,
    <span>{[<strong>{bdi(what)}</strong>, " ", bdi(text)]}</span>,
  ];
  return list("happened", values, (one) => line(show(one)), none);
}

/** Terms and what they are; what is false is left out. */
export const facts = (rows: Maybe<[term: Children, is: Children]>[]) => (
  <dl class="facts">
    {rows
      .filter((row) => !!row)
      .map(([term, is], n) => (
        <div key={n}>
          <dt>{term}</dt>
          <dd>{is}</dd>
        </div>
      ))}
  </dl>
);

export const figures = (rows: [label: string, value: Children, note?: Children][]) => (
  <dl class="figures">
    {rows.map(([label, value, note]) => (
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

type Option = string | [value: string, text: string];

/** What to choose from, and what is chosen. */
export function options(rest: Row, value: string, of: Option[], set: (value: string) => void) {
  const pairs = of.map((one) => (typeof one === "string" ? [one, one] : one));
  return (
    <select {...rest} value={value} onChange={(e) => set(e.currentTarget.value)}>
      {pairs.map(([key, text]) => (
        <option key={key} value={key} children={text} />
      ))}
    </select>
  );
}

export const field = (label: string, input: Children, kind = "") => (
  <label class={`field ${kind}`}>
    <span>{label}</span>
    {input}
  </label>
);

/** A field whose value is a part of the address. */
export function Choice({
  name,
  label,
  of,
  none = "all",
}: {
  name: string;
  label: string;
  of: Option[];
  none?: string;
}) {
  const { address, go } = useView();
  const set = (value: string) => go({ query: { [name]: value } }, true);
  return field(label, options({}, address.query[name] ?? "", [["", none], ...of], set));
}

export function Search({ label = "Search", hint }: { label?: string; hint: string }) {
  const { address, go } = useView();
  const set = (e: { currentTarget: HTMLInputElement }) => go({ query: { q: e.currentTarget.value } }, true);
  const more = { placeholder: hint, spellcheck: false, "data-search": "" };
  return field(label, <input type="search" value={address.query.q ?? ""} onInput={set} {...more} />, "wide");
}

/** The beginning of a text of which so many letters are left; `more` shows more of it. */
export const rest = (left: number, more: () => void) =>
  left > 0 && <button onClick={more} children={`Show more: ${count(left)} characters left`} />;

/** A long text, its end folded away until it is asked for. */
export function Text({ text, limit = 6_000 }: { text: string; limit?: number }) {
  const [shown, setShown] = useState(limit);
  useEffect(() => setShown(limit), [text]);
  return (
    <>
      <pre class="text" dir="auto" children={visible(text.slice(0, shown))} />
      {rest(text.length - shown, () => setShown(shown + 50_000))}
    </>
  );
}
