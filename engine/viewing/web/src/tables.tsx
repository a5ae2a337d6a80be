/** Tables and lists. Columns, filters and facts are data: what is false among them is left out. */
import type { ComponentChildren as Children } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { needle } from "./address";
import { distinct } from "./data";
import { A, Seq, bdi, toned } from "./marks";
import { Choice, Empty, Scroll, Search, Section, early, type About, type Maybe, type Option } from "./parts";
import { useView } from "./view";
import { count, number, words } from "./words";

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

type Cell = [value: Children, kind: string, ...more: unknown[]];
const head = ([value, kind]: Cell, k: number) => <th key={k} scope="col" class={kind} children={value} />;
const cell = ([value, kind]: Cell, k: number) => <td key={k} class={kind} children={value} />;

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
        <thead children={<tr children={shown.map(head)} />} />
        <tbody>
          {spacer(above)}
          {seen.map((n, k) => (
            <tr key={n} aria-rowindex={first + k + 2} aria-selected={selected === n || undefined}>
              {shown.map(([, kind, show], j) => cell([show(n), kind], j))}
            </tr>
          ))}
          {spacer(Math.max(0, full / scale - above - seen.length * ROW))}
        </tbody>
      </table>
    </Scroll>
  );
}

type More = Omit<Rows, "rows" | "columns">;
type Titled = About & Partial<More> & { title: string };

/** A table of these rows, or of so many. */
export const table = (more: More, rows: number[] | number, columns: Rows["columns"]) => (
  <Table {...more} rows={typeof rows === "number" ? [...Array(rows).keys()] : rows} columns={columns} />
);

/** A table in a section of its own. */
export const tabled = (about: Titled, rows: number[] | number, columns: Rows["columns"]) => (
  <Section {...about} children={table({ label: about.title, ...about }, rows, columns)} />
);

/** A choice of rows: its name in the address, what of a row it is about, and what to choose from if not from that. */
type Filter = [name: string, label: string, of: (n: number) => Maybe<string> | Maybe<string>[], from?: string[]];

interface Listed extends Titled {
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

function Listing({ one, many, known, early: soon, search: [hint, texts], filters, columns, ...about }: Listed) {
  const { query } = useView().address;
  const text = needle(query);
  const fits = (n: number) =>
    filters.every(([name, , of]) => !query[name] || [of(n)].flat().includes(query[name])) &&
    (!text || texts(n).join("\n").toLowerCase().includes(text));
  const rows = known.filter(fits);
  const none = unfit(one, soon, known.length, ...filters.map(([name]) => name));
  const part = rows.length < known.length ? `${count(rows.length)} of ` : "";
  const choice = ([name, label, of, from = known.flatMap(of) as string[]]: Filter) => {
    const values = distinct([...from, query[name]]).map((value): Option => [value, words(value)]);
    return <Choice key={name} name={name} label={label} of={values} />;
  };
  return (
    <Section {...about} tools={part + number(known.length, one, many)}>
      <div class="filters" children={[<Search hint={hint} />, ...filters.map(choice)]} />
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
  const every = <A to={{ query }} children={`Show all ${count(known)}`} />;
  return <Empty title={`No ${one} fits these filters`} children={every} />;
}

/** A small table of texts and numbers: first its headings, if any; the first cell of a row is its name. */
export function plain(kind: string, [titles, ...rows]: Maybe<Children[]>[], none = "") {
  const numbers = (values: Children[], from = 0) => values.map((one, k): Cell => [one, k < from ? "" : "num"]);
  const row = ([name, ...values]: Children[], n: number) => (
    <tr key={n} children={[<th scope="row">{name}</th>, ...numbers(values).map(cell)]} />
  );
  if (none && !rows.length) return <p class="muted">{none}</p>;
  const top = titles && <thead children={<tr children={numbers(titles, 1).map(head)} />} />;
  const body = <tbody children={rows.filter((one) => !!one).map(row)} />;
  return <table class={`plain ${kind}`} children={[top, body]} />;
}

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
export function facts(rows: Maybe<[term: Children, is: Children]>[]) {
  const shown = rows.filter((row) => !!row);
  const fact = ([term, is]: Children[], n: number) => <div key={n} children={[<dt>{term}</dt>, <dd>{is}</dd>]} />;
  return <dl class="facts" children={shown.map(fact)} />;
}

/** Facts in a section of their own. */
export const stated = (title: Children, rows: Parameters<typeof facts>[0]) => (
  <Section title={title} children={facts(rows)} />
);

export function figures(rows: [label: string, value: Children, note?: Children][]) {
  const figure = ([label, value, note]: Children[], n: number) => {
    const shown = [toned("value", value), note && toned("note", note)];
    return <div key={n} children={[<dt>{label}</dt>, <dd>{shown}</dd>]} />;
  };
  return <dl class="figures" children={rows.map(figure)} />;
}
