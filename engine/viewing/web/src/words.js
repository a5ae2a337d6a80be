/** Numbers and names as they are written everywhere. */

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** @param {number | null | undefined} n */
export const count = (n) => (n === null || n === undefined ? "–" : whole.format(n));

/** @param {number | null | undefined} share @param {number} [digits] */
export const percent = (share, digits = 1) =>
  share === null || share === undefined || Number.isNaN(share) ? "–" : `${(100 * share).toFixed(digits)} %`;

/** @param {number} correct @param {number} total @param {number} [digits] */
export const share = (correct, total, digits) => (total ? percent(correct / total, digits) : "–");

/** @param {number | null} usd */
export const dollars = (usd) => (usd === null ? "price unknown" : `$${usd.toFixed(usd && usd < 1 ? 4 : 2)}`);

/** @param {number | null | undefined} n @param {number} [digits] */
export const decimal = (n, digits = 2) => (n === null || n === undefined ? "–" : n.toFixed(digits).replace("-", "−"));

/** @param {number | null | undefined} n in millionths @param {number} [digits] */
export const micro = (n, digits = 2) => (n === null || n === undefined ? "–" : (n / 1e6).toFixed(digits));

/** @param {number} us */
export const seconds = (us) => `${(us / 1e6).toFixed(us < 1e7 ? 2 : 1)} s`;

/** @param {number} us since 1970 */
export const time = (us) => new Date(us / 1000).toISOString().slice(0, 19).replace("T", " ");

/** @param {string} name */
export const words = (name) => name.replaceAll("_", " ");

/** @param {string} id */
export const short = (id) => (/^[0-9a-f]{20,}$/.test(id) ? id.slice(0, 12) : id);

/** Characters that turn the direction of text or cannot be seen, named: what is read is then what is there. @param {string} text */
export const visible = (text) =>
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, (c) => `⟨${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

/** @param {number} n @param {string} one @param {string} [many] */
export const number = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/** @param {number | null} iteration @param {string} [phase] */
export const when = (iteration, phase) =>
  iteration === null || iteration === undefined ? "–" : iteration < 0 ? "start" : `iter-${iteration}${phase ? `/${phase}` : ""}`;
