/** What every part of the page can ask: the run, the moment, where a link leads. */
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import * as data from "./data.js";

/**
 * @typedef {import("./data.js").Index} Index
 * @typedef {import("./data.js").Table} Table
 * @typedef {import("./address.js").Change} Change
 * @typedef {{index: Index, seq: number}} Moment
 * @typedef {{index: Index, seq: number, other: Moment | null, runs: import("./data.js").Summary[],
 *   address: import("./address.js").Address, link: (change: Change) => string,
 *   go: (change: Change, replace?: boolean) => void}} View
 */

export const Viewed = createContext(/** @type {any} */ (null));

/** @returns {View} */
export const useView = () => useContext(Viewed);

/**
 * @template T
 * @param {() => Promise<T>} load @param {any[]} on what it depends on
 * @returns {{value: T | null, error: string}} the value of an earlier `on` is never shown for a later one
 */
export function useLoad(load, on) {
  const key = on.join("\n");
  const [got, set] = useState(/** @type {{key: string, value: T | null, error: string}} */ ({ key, value: null, error: "" }));
  useEffect(() => {
    let wanted = true;
    load().then(
      (value) => wanted && set({ key, value, error: "" }),
      (error) => wanted && set({ key, value: null, error: String(error.message ?? error) }),
    );
    return () => void (wanted = false);
  }, [key]);
  return got.key === key ? got : { value: null, error: "" };
}

/** Tables of a run by name. @param {Index} index @param {string[]} names @returns {{value: Record<string, Table> | null, error: string}} */
export function useTables(index, ...names) {
  return useLoad(async () => {
    const tables = await Promise.all(names.map((name) => data.table(index, name)));
    return Object.fromEntries(names.map((name, n) => [name, tables[n]]));
  }, [index.run, ...names]);
}

/** @param {Index} index @param {string} name @param {number | null} n */
export const useRow = (index, name, n) =>
  useLoad(async () => (n === null ? null : data.row(index, name, n)), [index.run, name, n]);
