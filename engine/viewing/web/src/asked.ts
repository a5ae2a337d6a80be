/** Every asking of every question: who was asked what, and how it went, up to a moment. */
import { all, chunk, grouped, opened, record, type Index, type Row, type Table } from "./data";
import { when } from "./words";

const known = new WeakMap<Table, Map<number, number[]>>();

/** The askings of each question, by its row. Made once for a table. */
export function byQuestion(askings: Table) {
  const found = known.get(askings) ?? grouped(askings.col.question?.keys() ?? [], (n) => askings.col.question[n]);
  known.set(askings, found);
  return found;
}

/** The newest asking that was judged by then: of an exam, or of none. */
export function newest({ col: { judged, exam: of } }: Table, list: number[], seq: number, exam = "") {
  let best = -1;
  for (const n of list)
    if (of[n] === exam && judged[n] !== null && judged[n] <= seq && (best < 0 || judged[n] >= judged[best])) best = n;
  return best;
}

/** One time that a question was asked; `n` is its row in askings, `name` is what the address calls it. */
export type Asking = Row & { n: number; name: string; title: string };

export const nameOf = ({ exam, from }: Row): string => exam || `seq:${from}`;

/** The asking that a verdict is from: of a carried one an earlier one, unless that is in a parent's log. */
export const source = (list: Asking[], one: Asking) => list.find((was) => was.n === one.verdict_of) ?? one;

/** Where a carried verdict is from, and why the question was not asked again. */
export const carried = (from: Asking, one: Asking) =>
  `verdict carried from ${when(from.iteration)} (not asked at ${when(one.iteration)}: ${one.carried})`;

/** A question and all its askings, without the tables of all others. */
export async function questionOf(index: Index, id: string) {
  const [, chunks] = index.chunks.asked ?? [];
  const place = new TextEncoder().encode(id).reduce((n, byte) => (256 * n + byte) % 1_000_003, 0) % chunks;
  if (!chunks) return null;
  const part = await chunk(`${index.run}/asked-${place}`);
  const [questions, askings] = [opened(part.questions), opened(part.askings)];
  const question = record(questions, questions.col.id.indexOf(id));
  if (question.row === undefined) return null;
  const own = all(askings).filter((k) => askings.col.question[k] === question.row);
  const asked = own.map((k) => record(askings, k)).map((one) => ({ ...one, n: one.row, name: nameOf(one) }) as Asking);
  return { question, askings: asked };
}
