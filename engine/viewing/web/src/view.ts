/** What every part of the page can ask: the run, the moment, where a link leads. */
import { createContext } from "preact";
import { useContext, useLayoutEffect, useState } from "preact/hooks";
import type { Address, Change } from "./address";
import * as data from "./data";
import type { Index, Row, Tables } from "./data";

export interface View {
  index: Index;
  seq: number;
  /** The second moment, B, perhaps of another run. */
  other: { index: Index; seq: number } | null;
  /** B's seq if it is a moment of the same run. */
  second: number | null;
  runs: Row[];
  address: Address;
  link: (change: Change) => string;
  go: (change: Change, replace?: boolean) => void;
}

export const Viewed = createContext<View>(null as any);

export const useView = () => useContext(Viewed);

export type Loaded<T> = { value: T | null; error: string };

/**
 * What `load` gives, made anew when `on` changes: the value of an earlier `on` is never shown for a later one. `load` can
 * ask whether it is still wanted.
 */
export function useLoad<T>(load: (wanted: () => boolean) => Promise<T>, on: unknown[]): Loaded<T> {
  const key = on.join("\n");
  const [got, set] = useState<Loaded<T> & { key: string }>({ key, value: null, error: "" });
  useLayoutEffect(() => {
    let wanted = true;
    load(() => wanted).then(
      (value) => wanted && set({ key, value, error: "" }),
      (error) => wanted && set({ key, value: null, error: String(error.message ?? error) }),
    );
    return () => void (wanted = false);
  }, [key]);
  return got.key === key ? got : { value: null, error: "" };
}

/** Tables of a run by name. */
export const useTables = (index: Index, ...names: string[]): Loaded<Tables> =>
  useLoad(async () => {
    const found = await Promise.all(names.map((name) => data.table(index, name)));
    return Object.fromEntries(names.map((name, n) => [name, found[n]]));
  }, [index.run, ...names]);

/** A table that is read only where it is wanted: whole texts, to be searched. */
export const useWanted = (index: Index, name: string, wanted: boolean) =>
  useLoad(async () => (wanted ? data.table(index, name) : null), [index.run, name, wanted]);

export const useRow = (index: Index, name: string, n: number | null) =>
  useLoad(async () => (n === null ? null : data.row(index, name, n)), [index.run, name, n]);

/** Do what a key is for, if it is for anything. */
export function pressed(event: KeyboardEvent, acts: Record<string, (() => void) | false>) {
  const act = acts[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}
