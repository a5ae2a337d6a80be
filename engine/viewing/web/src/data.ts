/**
 * Chunks and tables. A chunk is a classic script that calls `mage(name, packed)`: it works over HTTP and from file://.
 * `engine/viewing/tables.py` says what each table holds.
 */

export type Row = Record<string, any>;
export type Table = { rows: number; col: Record<string, any[]> };
export type Tables = Record<string, Table>;
export type Marker = { name: string; seq: number; iteration: number | null; phase: string };
/** What a run is; see `index` in tables.py. */
export interface Index extends Row {
  run: string;
  named: string;
  kind: "questions" | "episodes" | "baseline" | "served";
  state: string;
  last: number;
  markers: Marker[];
  anchors: [seq: number, share: number][];
  marks: { seq: number; kind: string; text: string }[];
  models: Record<string, string>;
  chunks: Record<string, [rows: number, chunks: number]>;
  counts: Record<string, number>;
}

const packed = new Map<string, string>();
const stamps = new Map<string, string>(); // of the runs that a server shows: what it may give once and for all
const made = new Map<string, Promise<any>>();
const tables = new Map<string, Promise<Table>>();
const recent: string[] = [];
const GROWN = "Has the server stopped, or the run gone on? Reload the page.";
const KEPT = 48; // chunks of which single rows are read

Object.assign(window, { mage: (name: string, text: string) => void packed.set(name, text) });

async function unpack(text: string) {
  const bytes = (Uint8Array as any).fromBase64?.(text) ?? Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

function script(name: string): Promise<string> {
  const held = document.querySelector(`script[data-chunk="${CSS.escape(name)}"]`)?.textContent; // in one file
  if (held) return Promise.resolve(held);
  return new Promise((resolve, reject) => {
    const element = document.createElement("script");
    const stamp = /\/(index|card)$/.test(name) ? "" : (stamps.get(name.slice(0, name.lastIndexOf("/"))) ?? "");
    const path = `data/${name.split("/").map(encodeURIComponent).join("/")}.js${stamp && `?${stamp}`}`;
    element.onload = element.onerror = () => {
      element.remove();
      const text = packed.get(name);
      packed.delete(name);
      if (text !== undefined) resolve(text);
      else reject(new Error(`${path} could not be read. ${stamp ? GROWN : "Was the whole folder copied?"}`));
    };
    element.src = path;
    document.head.append(element);
  });
}

/** One promise a key, forgotten if it fails. */
function once<T>(kept: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  let found = kept.get(key);
  if (!found) {
    kept.set(key, (found = make()));
    found.catch(() => kept.delete(key));
  }
  return found;
}

export const chunk = (name: string) => once(made, name, () => script(name).then(unpack).then(opened).then(noted));

const noted = (found: any) => (found.stamp && stamps.set(found.run, found.stamp), found);

/** A chunk as it is now. */
export const anew = (name: string) => (made.delete(name), chunk(name));

/** The index of a run; a server that still reads a long log says how much of it. */
export async function indexOf(run: string, tell: (share: number) => void): Promise<Index> {
  for (let name = `${run}/index`; ; made.delete(name)) {
    const found = await chunk(name);
    if (found.reading === undefined) return { ...found, markers: markersOf(opened(found.markers)) };
    tell(found.reading);
  }
}

const markersOf = (t: Table) =>
  all(t).map((n) => {
    const { seq, iteration, phase } = record(t, n);
    return { name: `${iteration < 0 ? "start" : `iter-${iteration}`}${phase && `/${phase}`}`, seq, iteration, phase };
  });

/** A table as a chunk has it. */
export const opened = ({ columns = {}, ...rest }: any) => {
  const values = (of: any): any[] => (Array.isArray(of) ? of : of.at.map((n: number) => of.of[n]));
  return { ...rest, col: Object.fromEntries(Object.entries(columns).map(([name, of]) => [name, values(of)])) };
};

/** A whole table, all its chunks in order. */
export function table(index: Index, name: string): Promise<Table> {
  return once(tables, `${index.run}:${name}`, async () => {
    const files = Array.from({ length: index.chunks[name]?.[1] ?? 0 }, (_, n) => `${index.run}/${name}-${n}`);
    const parts = await Promise.all(files.map(chunk));
    const col: Record<string, any[]> = {};
    for (const part of parts)
      for (const [column, values] of Object.entries<any[]>(part.col))
        col[column] = col[column] ? col[column].concat(values) : values;
    for (const file of files) made.delete(file);
    return { rows: parts.reduce((sum, part) => sum + part.rows, 0), col };
  });
}

/** One row of a table that is too large to load whole. */
export async function row(index: Index, name: string, n: number): Promise<Row | null> {
  const whole = tables.get(`${index.run}:${name}`);
  if (whole) return record(await whole, n);
  const [rows, chunks] = index.chunks[name] ?? [1, 0];
  if (!(0 <= n && n < rows * chunks)) return null;
  const file = `${index.run}/${name}-${Math.floor(n / rows)}`;
  const part = await chunk(file);
  if (n >= part.first + part.rows) return null;
  if (recent.includes(file)) recent.splice(recent.indexOf(file), 1);
  if (recent.push(file) > KEPT) made.delete(recent.shift() ?? "");
  return { texts: part.texts, ...record(part, n - part.first) };
}

export const record = (t: Table, n: number): Row =>
  Object.fromEntries(Object.entries(t.col).map(([name, values]) => [name, values[n]]));

/** The numbers of all rows. */
export const all = (t: Table) => Array.from({ length: t.rows }, (_, n) => n);

/** The rows that hold at seq. */
export function at(t: Table, seq: number): number[] {
  const { from, to } = t.col;
  const rows: number[] = [];
  for (let n = 0; n < t.rows; n++) if (from[n] <= seq && (!to || to[n] === null || seq < to[n])) rows.push(n);
  return rows;
}

/** Things by a key, in the order in which each key is met first. */
export function grouped<T, K>(list: Iterable<T>, key: (one: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const one of list) {
    const k = key(one);
    const group = groups.get(k);
    if (group) group.push(one);
    else groups.set(k, [one]);
  }
  return groups;
}

export const distinct = (values: any[] = []): string[] => [...new Set(values)].filter(Boolean).sort();
