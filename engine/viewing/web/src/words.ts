/** Numbers and names as they are written everywhere. */

type Maybe = number | null | undefined;

/** By hand: the first use of `Intl` takes a browser longer than all the rest of this page. */
export const count = (n: Maybe) => (n == null ? "–" : String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ","));

export const percent = (share: Maybe, digits = 1) =>
  share == null || Number.isNaN(share) ? "–" : `${(100 * share).toFixed(digits)} %`;

export const share = (right: number, all: number, digits?: number) => (all ? percent(right / all, digits) : "–");

export const dollars = (usd: Maybe) => (usd == null ? "price unknown" : `$${usd.toFixed(usd && usd < 1 ? 4 : 2)}`);

export const decimal = (n: Maybe, digits = 2) => (n == null ? "–" : n.toFixed(digits).replace("-", "−"));

export const micro = (n: Maybe, digits = 2) => (n == null ? "–" : (n / 1e6).toFixed(digits));

/** A difference of two shares. */
export const points = (share: Maybe) => (share == null ? "–" : `${decimal(100 * share, 1)} points`);

export const chance = (p: number) => (p < 0.001 ? "p\u00a0<\u00a00.001" : `p\u00a0=\u00a0${decimal(p, 3)}`);

export const seconds = (us: Maybe) =>
  us == null ? "–" : us < 1e5 ? `${(us / 1e3).toFixed(1)} ms` : `${(us / 1e6).toFixed(us < 1e7 ? 2 : 1)} s`;

/** Of microseconds since 1970, in UTC. */
export const time = (us: number) => new Date(us / 1000).toISOString().slice(0, 19).replace("T", " ");

export const words = (name: string) => name.replaceAll("_", " ");

export const capital = (name: string) => name[0].toUpperCase() + name.slice(1);

export const short = (id: string) => (/^[0-9a-f]{20,}$/.test(id) ? id.slice(0, 12) : id);

/** `1 question`, `2 questions`. */
export const number = (n: number, one: string, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/** A moment of a run by its iteration, -1 the start, and its phase. */
export const when = (iteration: Maybe, phase?: string) =>
  iteration == null ? "–" : iteration < 0 ? "start" : `iter-${iteration}${phase ? `/${phase}` : ""}`;

/** The beginning of a text, for where a whole one has no room. */
export const brief = (text: string, letters = 2_000) => (text.length > letters ? `${text.slice(0, letters)}…` : text);
