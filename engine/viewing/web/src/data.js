/**
 * Chunks and tables. A chunk is a classic script that calls `mage(name, packed)`: it works over HTTP and from file://.
 * `engine/viewing/tables.py` says what each table holds.
 *
 * @typedef {any[]} Column
 * @typedef {{rows: number, col: Record<string, Column>}} Table
 * @typedef {{name: string, seq: number, iteration: number | null, phase: string}} Marker
 * @typedef {{seq: number, kind: string, text: string}} Mark
 * @typedef {{run: string, path: string, kind: string, state: string, problem: string, benchmark: string, measure: string, config: Record<string, any>,
 *   models: Record<string, string>, last: number, head: string, began_us: number, ended_us: number, parent: string | null, command: string, exact: boolean,
 *   stops: number[], markers: Marker[], marks: Mark[], types: string[], chunks: Record<string, [string, number, number, number | null][]>,
 *   counts: Record<string, number>, version: string}} Index
 * @typedef {{run: string, kind: string, benchmark: string, state: string, events: number, iterations: number, problem: string}} Summary
 */

/** @type {Map<string, string>} */
const packed = new Map();
/** @type {Map<string, Promise<any>>} */
const opened = new Map();
const KEPT = 48;
/** @type {string[]} */
const recent = [];

/** @type {any} */ (window).mage = (/** @type {string} */ name, /** @type {string} */ text) => void packed.set(name, text);

/** @param {string} text @returns {Promise<any>} */
async function unpack(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

/** @param {string} name @returns {Promise<string>} */
function script(name) {
  const held = document.querySelector(`script[data-chunk="${CSS.escape(name)}"]`)?.textContent; // in one file
  if (held) return Promise.resolve(held);
  return new Promise((resolve, reject) => {
    const element = document.createElement("script");
    const path = `data/${name.split("/").map(encodeURIComponent).join("/")}.js`;
    const done = () => {
      element.remove();
      const text = packed.get(name);
      packed.delete(name);
      if (text === undefined) reject(new Error(`${path} could not be read. Was the whole folder copied, or has the server stopped?`));
      else resolve(text);
    };
    element.onload = element.onerror = done;
    element.src = path;
    document.head.append(element);
  });
}

/** One chunk, decoded once. @param {string} name @returns {Promise<any>} */
export function chunk(name) {
  let found = opened.get(name);
  if (!found) {
    found = script(name).then(unpack);
    found.catch(() => opened.delete(name));
    opened.set(name, found);
  }
  return found;
}

/** The index of a run; a server that still reads a long log says how much of it. @param {string} run @param {(share: number) => void} tell @returns {Promise<Index>} */
export async function indexOf(run, tell) {
  for (let name = `${run}/index`; ; opened.delete(name)) {
    const found = await chunk(name);
    if (found.reading === undefined) return found;
    tell(found.reading);
  }
}

/** @param {any} values @returns {Column} */
const plain = (values) => (Array.isArray(values) ? values : values.at.map((/** @type {number} */ n) => values.of[n]));

/** A whole table, all its chunks in order. @param {Index} index @param {string} name @returns {Promise<Table>} */
export function table(index, name) {
  const key = `${index.run}:${name}`;
  let found = opened.get(key);
  if (!found) {
    found = Promise.all((index.chunks[name] ?? []).map(([file]) => chunk(file))).then((parts) => {
      /** @type {Record<string, Column>} */
      const col = {};
      for (const part of parts)
        for (const [column, values] of Object.entries(part.columns)) {
          const more = plain(values);
          col[column] = col[column] ? col[column].concat(more) : more;
        }
      for (const [file] of index.chunks[name] ?? []) opened.delete(file);
      return { rows: parts.reduce((sum, part) => sum + part.rows, 0), col };
    });
    found.catch(() => opened.delete(key));
    opened.set(key, found);
  }
  return found;
}

/** One row of a table that is too large to load whole. @param {Index} index @param {string} name @param {number} n */
export async function row(index, name, n) {
  const place = (index.chunks[name] ?? []).find(([, first, last]) => first <= n && n <= last);
  if (!place) return null;
  const part = await chunk(place[0]);
  keep(place[0]);
  /** @type {Record<string, any>} */
  const found = { texts: part.texts };
  for (const [column, values] of Object.entries(part.columns)) {
    const v = /** @type {any} */ (values);
    found[column] = Array.isArray(v) ? v[n - part.first] : v.of[v.at[n - part.first]];
  }
  return found;
}

/** @param {string} name */
function keep(name) {
  const at = recent.indexOf(name);
  if (at >= 0) recent.splice(at, 1);
  recent.push(name);
  if (recent.length > KEPT) opened.delete(/** @type {string} */ (recent.shift()));
}

/** The rows that hold at seq. @param {Table} t @param {number} seq @returns {number[]} */
export function at(t, seq) {
  const { from, to } = t.col;
  /** @type {number[]} */
  const rows = [];
  for (let n = 0; n < t.rows; n++) if (from[n] <= seq && (!to || to[n] === null || seq < to[n])) rows.push(n);
  return rows;
}

/** One row as an object. @param {Table} t @param {number} n @returns {Record<string, any>} */
export const record = (t, n) => Object.fromEntries(Object.entries(t.col).map(([name, values]) => [name, values[n]]));
