/** What it cost: calls, tokens, seconds and dollars, by whatever is asked. */
import { at, grouped, record, type Row, type Table as Data, type Tables } from "../data";
import { bdi } from "../marks";
import { Choice, Section, early } from "../parts";
import { figures, tabled, type Column } from "../tables";
import { useView } from "../view";
import { count, dollars, number, percent, seconds, when, words } from "../words";

const NOTE = "Of the run up to this moment, failed attempts included. Exams: below.";
const BY = ["tier", "agent", "purpose", "model", "iteration"];
/** Sums with their titles; one that is 0 everywhere is left out. */
const SUMS: [name: string, title: string, write?: (n: number) => string][] = [
  ["calls", "calls"],
  ["failures", "failed"],
  ["retries", "retries"],
  ["cut", "cut"],
  ["input_tokens", "tokens in"],
  ["cached_tokens", "cached"],
  ["output_tokens", "tokens out"],
  ["thinking_tokens", "thinking"],
  ["latency_us", "time", seconds],
];

function summed(rows: Row[]): Row {
  const add = (name: string) => rows.reduce((sum, row) => sum + (row[name] ?? 0), 0);
  const sums = Object.fromEntries(SUMS.map(([name]) => [name, add(name)]));
  return { ...rows[0], ...sums, usd: rows.some((row) => row.usd === null) ? null : add("usd") };
}

const recordsAt = (t: Data, seq: number) => at(t, seq).map((n) => record(t, n));

export function Cost({ t: { cost, exam_cost: exams } }: { t: Tables }) {
  const { seq, second, address } = useView();
  const [rows, examined] = [cost, exams].map((t) => recordsAt(t, seq));
  if (!rows.length) return early("No call was made up to this moment");
  const all = summed(rows);
  const then = second === null ? null : summed(recordsAt(cost, second));
  const by = address.query.by ? [address.query.by] : ["tier", "agent", "purpose"];
  const order = (p: Row, q: Row) =>
    by.reduce((found, name) => found || (p[name] < q[name] ? -1 : Number(p[name] > q[name])), 0);
  const groups = [...grouped(rows, (row) => by.map((name) => row[name]).join("\n")).values()].map(summed).sort(order);
  const guidance = summed(examined.filter((row) => row.tier === "guidance")).calls;
  const note = (name: string, text: string) => (then ? `B: ${count(then[name])}` : text);
  const cached = all.cached_tokens ? `${percent(all.cached_tokens / all.input_tokens)} from a cache` : "";
  const thought = all.thinking_tokens ? `${count(all.thinking_tokens)} of them thinking` : "";
  const unknown = all.usd === null ? "a model has no price in the table" : "";
  const choice = <Choice name="by" label="Group by" of={BY} none="tier, agent and purpose" />;
  const apart = `${number(guidance, "guidance call")}; no figure above counts what exams cost.`;
  return (
    <>
      <Section title="Cost" note={NOTE}>
        {figures([
          ["Calls", count(all.calls), note("calls", number(all.failures, "failed attempt"))],
          ["Tokens in", count(all.input_tokens), note("input_tokens", cached)],
          ["Tokens out", count(all.output_tokens), note("output_tokens", thought)],
          ["Price", dollars(all.usd), then ? `B: ${dollars(then.usd)}` : unknown],
        ])}
      </Section>
      {sums({ title: "Calls and tokens", tools: choice }, by, groups)}
      {examined.length > 0 && sums({ title: "Exams", note: apart }, ["exam", "tier", "agent", "model"], examined)}
    </>
  );
}

/** A table of sums, each of what has the same names. */
function sums(about: Parameters<typeof tabled>[0], by: string[], rows: Row[]) {
  const all = summed(rows);
  const name = (row: Row, of: string) => (of === "iteration" ? when(row[of]) : bdi(words(row[of])));
  const nonzero = SUMS.filter(([of]) => all[of]);
  return tabled(about, rows.length, [
    ...by.map((of): Column => [of, "", (n) => name(rows[n], of), (n) => rows[n][of]]),
    ...nonzero.map(([of, title, write = count]): Column => {
      return [title, "num", (n) => write(rows[n][of]), (n) => rows[n][of]];
    }),
    ["of all calls", "num", (n) => percent(rows[n].calls / all.calls), (n) => rows[n].calls],
    ["dollars", "num", (n) => dollars(rows[n].usd), (n) => rows[n].usd],
  ]);
}
