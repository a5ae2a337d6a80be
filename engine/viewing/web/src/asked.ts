/** Every asking of every question, in order: who was asked what, and how it went, up to a moment. */
import { find, grouped, record, row, table } from "./data";
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
  const n = await find(index, "questions", "id", id);
  if (n < 0) return null;
  const exams = await table(index, "exams");
  const question = (await row(index, "questions", n)) as Row;
  const rows: number[] = question.askings;
  const askings = await Promise.all(rows.map(async (k) => asking((await row(index, "askings", k)) as Row, k, exams)));
  return { question, askings, exams };
}
