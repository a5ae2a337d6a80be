/** What the page shows is in its address, so that any view can be sent: `#/run/page/id?at=iter-4&vs=iter-9&...`. */
import type { Index } from "./data";

export type Address = { run: string; page: string; id: string; query: Record<string, string> };
export type Change = Partial<Address>;

function safely(part: string) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function read(hash: string): Address {
  const [path, query] = hash.replace(/^#\/?/, "").split("?", 2);
  const [run = "", page = "overview", ...id] = path.split("/").map(safely);
  return { run, page, id: id.join("/"), query: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

export function write({ run, page, id, query }: Address) {
  const path = run && [run, page, ...(id ? [id] : [])].map(encodeURIComponent).join("/");
  const plain = (value: string) => encodeURIComponent(value).replace(/%2F/g, "/").replace(/%3A/g, ":");
  const kept = Object.entries(query).filter(([, value]) => value !== "" && value !== undefined);
  return `#/${path}${kept.length ? `?${kept.map(([name, value]) => `${name}=${plain(value)}`).join("&")}` : ""}`;
}

/** What every page shares; the rest of a query belongs to its page. */
const SHARED = ["at", "vs", "with", "keys"];

export function changed(address: Address, change: Change): Address {
  const elsewhere = change.page !== undefined && (change.page !== address.page || change.id !== undefined);
  const kept = Object.entries(address.query).filter(([name]) => !elsewhere || SHARED.includes(name));
  return {
    run: change.run ?? address.run,
    page: change.page ?? address.page,
    id: change.id ?? (elsewhere ? "" : address.id),
    query: { ...Object.fromEntries(kept), ...change.query },
  };
}

export function go(address: Address, replace = false) {
  const hash = write(address);
  if (hash === location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", hash);
  dispatchEvent(new Event("hashchange"));
}

/** The seq that a text names; null: the run has no such moment. */
export function moment(index: Index, text: string | undefined): number | null {
  if (!text || text === "latest") return index.last;
  const seq = /^seq:(\d+)$/.exec(text);
  if (seq) return Math.min(Number(seq[1]), index.last);
  return index.markers.find((marker) => marker.name === text)?.seq ?? null;
}

/** The name of a moment. */
export function named(index: Index, seq: number) {
  if (seq >= index.last) return "latest";
  return index.markers.find((marker) => marker.seq === seq)?.name ?? `seq:${seq}`;
}

/** The words that a list is searched for, in lower case. */
export const needle = (query: Record<string, string>) => (query.q ?? "").toLowerCase();
