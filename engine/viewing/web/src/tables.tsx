/** Tables and lists. Columns, filters and facts are data: what is false among them is left out. */
import type { ComponentChildren as Children } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { needle } from "./address";
import { distinct, type Table as Data } from "./data";
import { A, Seq, bdi, toned } from "./marks";
import { Choice, Empty, Scroll, Search, Section, early, type About, type Maybe, type Option } from "./parts";
import { explained, term } from "./terms";
import { useView, useWanted } from "./view";
import { count, number, words } from "./words";

type Kind = "" | "num" | "num main" | "grow" | "narrow" | "wrap";
type Sorted = string | number | boolean | null | undefined;
/** A column of a table: its title, how it looks, what it shows of a row, and by what it can be sorted. */
export type Column = [title: string, kind: Kind, cell: (n: number) => Children, by?: (n: number) => Sorted];

interface Rows {
  label: string;
  rows: number[];
  columns: Maybe<Column>[];
  selected?: number | null;
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

const slug = (text: string) => text.toLowerCase().replace(/\W+/g, "-");

/** Rows in another order: what has no value comes last. */
function ordered(rows: number[], by: (n: number) => Sorted, down: boolean) {
  const known = rows.map((n) => [n, by(n)] as const);
  const none = (value: Sorted) => value === null || value === undefined || value === "" || Number.isNaN(value);
  const less = (p: any, q: any) => (p < q ? -1 : Number(p > q));
  const order = (p: Sorted, q: Sorted) => Number(none(p)) - Number(none(q)) || (down ? less(q, p) : less(p, q));
  return known.sort(([, p], [, q]) => order(p, q)).map(([n]) => n);
}

/** Go where the chief link of a row leads, unless something else was meant. */
function follow(event: MouseEvent) {
  const row = event.currentTarget as HTMLElement;
  if ((event.target as HTMLElement).closest("a, button, input, label, summary") || String(getSelection())) return;
  const link = ["td.main a", "td.grow a", "a:not(.num)", "a"].map((one) => row.querySelector(one)).find(Boolean);
  const { ctrlKey, metaKey, shiftKey } = event;
  link?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey }));
}

/** A table of any length: of a long one only the rows in sight are in the page. Its order is in the address. */
function Table({ columns, rows: given, label, selected, none, height: asked }: Rows) {
  const box = useRef<HTMLDivElement>(null);
  const { address, go } = useView();
  const [top, setTop] = useState(0);
  const shown = columns.filter((column) => !!column);
  const [, minus, sort] = /^(-?)(.*)$/.exec(address.query.sort ?? "") ?? [];
  const key = (title: string) => `${slug(label)}.${slug(title)}`;
  const [, , , by] = shown.find(([title]) => key(title) === sort) ?? [];
  const rows = by ? ordered(given, by, minus === "-") : given;
  const long = rows.length > 40;
  const height = asked ?? Math.max(360, innerHeight - 290);
  const room = long ? Math.ceil(height / ROW) + 8 : rows.length;
  const full = rows.length * ROW;
  const scale = Math.max(1, full / TALLEST);
  const first = long ? Math.max(0, Math.min(rows.length - room, Math.floor((top * scale) / ROW) - 3)) : 0;
  const seen = rows.slice(first, first + room);
  const above = scale > 1 ? Math.max(0, top - 3 * ROW) : first * ROW;
  useEffect(() => {
    const place = rows.indexOf(selected ?? NaN);
    if (box.current && long && place >= 0) box.current.scrollTop = Math.max(0, (place * ROW) / scale - height / 3);
  }, [selected]);
  if (!rows.length && none) return typeof none === "string" ? <p class="muted">{none}</p> : <>{none}</>;
  const title = ([title, kind, , by]: Column, k: number) => {
    const is = key(title) === sort;
    if (!by) return head([term(title), kind], k);
    // First the way that is mostly wanted: much, or the beginning of the alphabet; then the other; then as it was.
    const [first, second] = kind === "num" ? ["-", ""] : ["", "-"];
    const next = !is ? `${first}${key(title)}` : minus === first ? `${second}${key(title)}` : "";
    const turn = () => go({ query: { sort: next } }, true);
    const arrow = <span class="arrow" aria-hidden="true" children={is ? (minus ? "↓" : "↑") : ""} />;
    return (
      <th key={k} scope="col" class={kind} aria-sort={is ? (minus ? "descending" : "ascending") : undefined}>
        <button class="sort" onClick={turn} {...explained(title)} children={[title, arrow]} />
      </th>
    );
  };
  const spacer = (pixels: number) => long && <tr class="spacer" aria-hidden="true" style={{ height: `${pixels}px` }} />;
  return (
    <Scroll
      label={long ? `${label}, ${count(rows.length)} rows` : label}
      kind={long ? "long" : ""}
      style={long ? { height: `${height}px` } : undefined}
      box={box}
      onScroll={(e: Event) => setTop((e.currentTarget as HTMLElement).scrollTop)}>
      <table aria-rowcount={rows.length + 1}>
        <thead children={<tr children={shown.map(title)} />} />
        <tbody>
          {spacer(above)}
          {seen.map((n, k) => (
            <tr key={n} aria-rowindex={first + k + 2} aria-selected={selected === n || undefined} onClick={follow}>
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

/** A table whose rows are the same, and what of each is searched. */
type Whole = [table: string, texts: (t: Data, n: number) => Maybe<string>[]];

/** A choice of rows: its name in the address, what of a row it is about, and what to choose from if not from that. */
type Filter = [name: string, label: string, of: (n: number) => Maybe<string> | Maybe<string>[], from?: string[]];

interface Listed extends Titled {
  /** What one row is, and many. */
  one: string;
  many?: string;
  /** The rows at this moment, and what is said where there is none. */
  known: number[];
  early: string;
  /** What is searched: texts of a row, and whole ones, which are read once they are wanted. */
  search: [hint: string, texts: (n: number) => Maybe<string>[], whole?: Whole];
  filters: Filter[];
  columns: Rows["columns"];
}

const NOTHING: Whole = ["", () => []];

function Listing({ one, many, known, early: soon, search, filters, columns, ...about }: Listed) {
  const { index, address } = useView();
  const { query } = address;
  const text = needle(query);
  const [hint, texts, [name, of] = NOTHING] = search;
  const { value: whole, error } = useWanted(index, name, Boolean(name && text));
  const all = (n: number) => [...texts(n), ...(whole ? of(whole, n) : [])].join("\n").toLowerCase();
  const fits = (n: number) =>
    filters.every(([name, , of]) => !query[name] || [of(n)].flat().includes(query[name])) &&
    (!text || all(n).includes(text));
  const rows = known.filter(fits);
  const none = unfit(one, soon, known.length, ...filters.map(([name]) => name));
  const reading = text && name && !whole && (error || "Reading whole texts …");
  const part = rows.length < known.length ? `${count(rows.length)} of ` : "";
  const choice = ([name, label, of, from = known.flatMap(of) as string[]]: Filter) => {
    const values = distinct([...from, query[name]]).map((value): Option => [value, words(value)]);
    return <Choice key={name} name={name} label={label} of={values} />;
  };
  return (
    <Section {...about} tools={reading || part + number(known.length, one, many)}>
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
  const fact = ([name, is]: Children[], n: number) => <div key={n} children={[<dt>{term(name)}</dt>, <dd>{is}</dd>]} />;
  return <dl class="facts" children={shown.map(fact)} />;
}

/** Facts in a section of their own. */
export const stated = (title: Children, rows: Parameters<typeof facts>[0]) => (
  <Section title={title} children={facts(rows)} />
);

export function figures(rows: [label: string, value: Children, note?: Children][]) {
  const figure = ([label, value, note]: Children[], n: number) => {
    const shown = [toned("value", value), note && toned("note", note)];
    return <div key={n} children={[<dt>{term(label)}</dt>, <dd>{shown}</dd>]} />;
  };
  return <dl class="figures" children={rows.map(figure)} />;
}
