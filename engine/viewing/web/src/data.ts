/**
 * Chunks and tables. A chunk is a classic script that calls `mage(name, packed)`: it works over HTTP and from file://.
 * `engine/viewing/tables.py` says what each table holds.
 */

export type Row = Record<string, any>;
export interface Table {
  rows: number;
  col: Record<string, any[]>;
}
export type Tables = Record<string, Table>;
export interface Marker {
  name: string;
  seq: number;
  iteration: number | null;
  phase: string;
}
/** What a run is; see `index` in tables.py. */
export interface Index extends Row {
  run: string;
  named: string;
  kind: "questions" | "episodes" | "baseline" | "served";
  state: string;
  last: number;
  stops: number[];
  markers: Marker[];
  marks: { seq: number; kind: string; text: string }[];
  models: Record<string, string>;
  chunks: Record<string, [name: string, first: number, last: number, bytes: number | null][]>;
  counts: Record<string, number>;
}

const packed = new Map<string, string>();
const opened = new Map<string, Promise<any>>();
const tables = new Map<string, Promise<Table>>();
const recent: string[] = [];
const KEPT = 48; // chunks of which single rows are read

Object.assign(window, { mage: (name: string, text: string) => void packed.set(name, text) });

async function unpack(text: string) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

function script(name: string): Promise<string> {
  const held = document.querySelector(`script[data-chunk="${CSS.escape(name)}"]`)?.textContent; // in one file
  if (held) return Promise.resolve(held);
  return new Promise((resolve, reject) => {
    const element = document.createElement("script");
    const path = `data/${name.split("/").map(encodeURIComponent).join("/")}.js`;
    element.onload = element.onerror = () => {
      element.remove();
      const text = packed.get(name);
      packed.delete(name);
      if (text !== undefined) resolve(text);
      else reject(new Error(`${path} could not be read. Was the whole folder copied, or has the server stopped?`));
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

export const chunk = (name: string) => once(opened, name, () => script(name).then(unpack));

/** The index of a run; a server that still reads a long log says how much of it. */
export async function indexOf(run: string, tell: (share: number) => void): Promise<Index> {
  for (let name = `${run}/index`; ; opened.delete(name)) {
    const found = await chunk(name);
    for (const one of found.markers ?? []) one.name = one.name.replace("iter--1/", "start/"); // the start's phases
    if (found.reading === undefined) return found;
    tell(found.reading);
  }
}

/** A whole table, all its chunks in order. */
export function table(index: Index, name: string): Promise<Table> {
  return once(tables, `${index.run}:${name}`, async () => {
    const files = (index.chunks[name] ?? []).map(([file]) => file);
    const parts = await Promise.all(files.map(chunk));
    const col: Record<string, any[]> = {};
    for (const { columns } of parts)
      for (const [column, values] of Object.entries<any>(columns)) {
        const plain = Array.isArray(values) ? values : values.at.map((n: number) => values.of[n]);
        col[column] = col[column] ? col[column].concat(plain) : plain;
      }
    for (const file of files) opened.delete(file);
    return { rows: parts.reduce((sum, part) => sum + part.rows, 0), col };
  });
}

/** One row of a table that is too large to load whole. */
export async function row(index: Index, name: string, n: number): Promise<Row | null> {
  const whole = tables.get(`${index.run}:${name}`);
  if (whole) return record(await whole, n);
  const place = (index.chunks[name] ?? []).find(([, first, last]) => first <= n && n <= last);
  if (!place) return null;
  const part = await chunk(place[0]);
  if (recent.includes(place[0])) recent.splice(recent.indexOf(place[0]), 1);
  if (recent.push(place[0]) > KEPT) opened.delete(recent.shift() ?? "");
  const found: Row = { texts: part.texts };
  for (const [column, values] of Object.entries<any>(part.columns))
    found[column] = Array.isArray(values) ? values[n - part.first] : values.of[values.at[n - part.first]];
  return found;
}

/** The first row with this value in a column, looked for chunk by chunk; -1: there is none. */
export async function find(index: Index, name: string, column: string, value: string): Promise<number> {
  const whole = tables.get(`${index.run}:${name}`);
  if (whole) return (await whole).col[column]?.indexOf(value) ?? -1;
  for (const [file, first] of index.chunks[name] ?? []) {
    const values = (await chunk(file)).columns[column];
    const at = Array.isArray(values) ? values.indexOf(value) : values.at.indexOf(values.of.indexOf(value));
    if (at >= 0) return first + at;
  }
  return -1;
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

export const distinct = (values: any[] = []): string[] =>
  [...new Set(values)].filter((one) => one !== null && one !== "").sort();
