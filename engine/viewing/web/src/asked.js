/** Every asking of every question, in order: who was asked what, and how it went, up to a moment. */

/** @typedef {import("./data.js").Table} Table */

/** @type {WeakMap<Table, Map<number, number[]>>} */
const known = new WeakMap();

/** Made once for a table. @param {Table} askings @returns {Map<number, number[]>} question row: its askings */
export function byQuestion(askings) {
  let found = known.get(askings);
  if (!found) {
    found = new Map();
    const { question } = askings.col;
    for (let n = 0; n < askings.rows; n++) {
      const list = found.get(question[n]);
      if (list) list.push(n);
      else found.set(question[n], [n]);
    }
    known.set(askings, found);
  }
  return found;
}

/** The newest asking that was judged by then. @param {Table} askings @param {number[]} list @param {number} seq @param {number | null} [exam] only in this exam */
export function newest(askings, list, seq, exam) {
  const c = askings.col;
  let best = -1;
  for (const n of list)
    if (c.judged[n] !== null && c.judged[n] <= seq && (exam === undefined ? c.exam[n] === null : c.exam[n] === exam) && (best < 0 || c.judged[n] >= c.judged[best])) best = n;
  return best;
}

/** How an asking is called in the address. @param {Table} askings @param {Table} exams @param {number} n */
export const nameOf = (askings, exams, n) =>
  askings.col.exam[n] === null ? `seq:${askings.col.from[n]}` : exams.col.exam[askings.col.exam[n]];

/** @param {Table} questions @param {string} id */
export const questionRow = (questions, id) => questions.col.id?.indexOf(id) ?? -1;
