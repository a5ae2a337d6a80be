/**
 * What the page shows is in its address, so that any view can be sent: `#/run/page/id?at=iter-4&vs=iter-9&...`.
 *
 * @typedef {{run: string, page: string, id: string, query: Record<string, string>}} Address
 */

/** @param {string} hash @returns {Address} */
export function read(hash) {
  const [path, query] = hash.replace(/^#\/?/, "").split("?", 2);
  const [run = "", page = "overview", ...id] = path.split("/").map(safely);
  return { run, page, id: id.join("/"), query: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

/** @param {string} part */
function safely(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** @param {Address} address */
export function write({ run, page, id, query }) {
  const path = [run, page, ...(id ? [id] : [])].map(encodeURIComponent).join("/");
  const kept = Object.entries(query).filter(([, value]) => value !== "" && value !== undefined);
  const text = kept.map(([name, value]) => `${name}=${encodeURIComponent(value).replace(/%2F/g, "/").replace(/%3A/g, ":")}`);
  return `#/${path}${text.length ? `?${text.join("&")}` : ""}`;
}

/** What every page shares; the rest of a query belongs to its page. */
export const SHARED = ["at", "vs", "with", "keys"];

/**
 * @typedef {Partial<Omit<Address, "query">> & {query?: Record<string, string>}} Change
 * @param {Address} address @param {Change} change @returns {Address}
 */
export function changed(address, change) {
  const elsewhere = change.page !== undefined && (change.page !== address.page || change.id !== undefined);
  const query = elsewhere
    ? Object.fromEntries(Object.entries(address.query).filter(([name]) => SHARED.includes(name)))
    : { ...address.query };
  return {
    run: change.run ?? address.run,
    page: change.page ?? address.page,
    id: change.id ?? (elsewhere ? "" : address.id),
    query: { ...query, ...change.query },
  };
}

/** @param {Address} address @param {boolean} [replace] */
export function go(address, replace = false) {
  const hash = write(address);
  if (hash === location.hash) return;
  if (replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  dispatchEvent(new Event("hashchange"));
}

/** @param {import("./data.js").Index} index @param {string | undefined} text @returns {number | null} null: no such moment */
export function moment(index, text) {
  if (!text || text === "latest") return index.last;
  const seq = /^seq:(\d+)$/.exec(text);
  if (seq) return Math.min(Number(seq[1]), index.last);
  return index.markers.find((marker) => marker.name === text)?.seq ?? null;
}

/** How a marker is written; the phases of the start have a number in the log. @param {string} name */
export const written = (name) => name.replace("iter--1/", "start/");

/** The name of a moment. @param {import("./data.js").Index} index @param {number} seq */
export function named(index, seq) {
  if (seq >= index.last) return "latest";
  return index.markers.find((marker) => marker.seq === seq)?.name ?? `seq:${seq}`;
}
