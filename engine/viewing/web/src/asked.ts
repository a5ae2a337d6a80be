/** Every asking of every question, in order: who was asked what, and how it went, up to a moment. */
import { all, chunk, grouped, opened, record, table } from "./data";
import type { Index, Row, Table, Tables } from "./data";
import { when } from "./words";

const known = new WeakMap<Table, Map<number, number[]>>();

/** The askings of each question, by its row. Made once for a table. */
export function byQuestion(askings: Table) {
  const found = known.get(askings) ?? grouped(askings.col.question?.keys() ?? [], (n) => askings.col.question[n]);
  known.set(askings, found);
  return found;
}

/** The newest asking that was judged by then: of an exam (its row), or of none. */
export function newest(askings: Table, list: number[], seq: number, exam: number | null = null) {
  const { judged, exam: of } = askings.col;
  let best = -1;
  for (const n of list)
    if (of[n] === exam && judged[n] !== null && judged[n] <= seq && (best < 0 || judged[n] >= judged[best])) best = n;
  return best;
}

/** One time that a question was asked; `n` is its row in askings. */
export interface Asking extends Row {
  n: number;
  /** How it is called in the address, and on the page. */
  name: string;
  title: string;
}

function asking(one: Row, n: number, exams: Table): Asking {
  const exam = one.exam === null ? "" : exams.col.exam[one.exam];
  const title = exam ? `exam ${exam}` : `${when(one.iteration)} ${one.purpose}${one.carried ? ", carried" : ""}`;
  return { ...one, n, name: exam || `seq:${one.from}`, title };
}

/** What an asking is called. */
export const titleOf = ({ askings, exams }: Tables, n: number) => asking(record(askings, n), n, exams).title;

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
  const [part, exams] = await Promise.all([chunk(`${index.run}/asked-${place}`), table(index, "exams")]);
  const [questions, askings] = [opened(part.questions), opened(part.askings)];
  const n = questions.col.id.indexOf(id);
  if (n < 0) return null;
  const question = record(questions, n);
  const own = all(askings).filter((k) => askings.col.question[k] === question.row);
  return { question, askings: own.map((k) => asking(record(askings, k), askings.col.row[k], exams)), exams };
}
