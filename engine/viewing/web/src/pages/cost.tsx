/** What it cost: calls, tokens, seconds and dollars, by whatever is asked. */
import { Fragment, h } from "preact";
import { Chart } from "../charts";
import { at, distinct, grouped } from "../data";
import type { Row, Table as Data, Tables } from "../data";
import { bdi } from "../marks";
import type { Column } from "../parts";
import { Choice, Empty, Figures, Nothing, Section, Table } from "../parts";
import { useView } from "../view";
import { count, dollars, number, percent, seconds, when, words } from "../words";

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

export function Cost({ t: { cost: t, exam_cost: examined, exams } }: { t: Tables }) {
  const { index, seq, second, address } = useView();
  const c = t.col;
  if (!t.rows) {
    const resume = `Calls are recorded as they return: mage-es resume ${index.named}`;
    return <Empty title="No call was made in this run" children={resume} />;
  }
  const summed = (rows: number[]): Row => {
    const add = (name: string) => rows.reduce((sum, n) => sum + (c[name][n] ?? 0), 0);
    const sums: Row = Object.fromEntries(SUMS.map(([name]) => [name, add(name)]));
    return { ...sums, usd: rows.some((n) => c.usd[n] === null) ? null : add("usd") };
  };
  const rows = at(t, seq);
  if (!rows.length) return <Nothing title="No call was made up to this moment" known={0} filters={[]} />;
  const sums = summed(rows);
  const then = second === null ? null : summed(at(t, second));
  const by = address.query.by ? [address.query.by] : ["tier", "agent", "purpose"];
  const values = (n: number) => by.map((name) => c[name][n] ?? -1);
  const before = (p: any[], q: any[]) => {
    const k = p.findIndex((one, j) => one !== q[j]);
    return k < 0 ? 0 : p[k] < q[k] ? -1 : 1;
  };
  const groups = [...grouped(rows, (n) => values(n).join("\n")).values()]
    .sort((p, q) => before(values(p[0]), values(q[0])))
    .map((list) => ({ values: values(list[0]), ...summed(list) }) as Row);
  const note = (name: string, text: string) => (then ? `B: ${count(then[name])}` : text);
  const cached = sums.cached_tokens ? `${percent(sums.cached_tokens / sums.input_tokens)} from a cache` : "";
  const thought = sums.thinking_tokens ? `${count(sums.thinking_tokens)} of them thinking` : "";
  const unknown = sums.usd === null ? "a model has no price in the table" : "";
  return (
    <Fragment>
      <Section
        title="Cost"
        note="Of the run up to this moment: every call and failed attempt is an event. Exams: below.">
        <Figures
          figures={[
            ["Calls", count(sums.calls), note("calls", number(sums.failures, "failed attempt"))],
            ["Tokens in", count(sums.input_tokens), note("input_tokens", cached)],
            ["Tokens out", count(sums.output_tokens), note("output_tokens", thought)],
            ["Price", dollars(sums.usd), then ? `B: ${dollars(then.usd)}` : unknown],
          ]}
        />
      </Section>
      <Section
        title="Calls and tokens"
        tools={<Choice name="by" label="Group by" of={BY} none="tier, agent and purpose" />}>
        <Table
          label="Cost"
          rows={[...groups.keys()]}
          columns={[
            ...by.map((name, j): [string, "", any] => [
              name,
              "",
              (k: number) =>
                name === "iteration" ? when(groups[k].values[j]) : bdi(words(String(groups[k].values[j]))),
            ]),
            ...SUMS.map(([name, title, write = count]): any =>
              sums[name] ? [title, "num", (k: number) => write(groups[k][name])] : null,
            ),
            ["of all calls", "num", (k) => percent(groups[k].calls / sums.calls)],
            ["dollars", "num", (k) => dollars(groups[k].usd)],
          ]}
        />
      </Section>
      <Calls c={c} rows={rows} />
      <Examined t={examined} exams={exams} />
    </Fragment>
  );
}

/** What the exams cost, each in a log of its own. */
function Examined({ t: { col: c, rows: all }, exams }: { t: Data; exams: Data }) {
  const { seq } = useView();
  const rows = [...Array(all).keys()].filter((n) => c.from[n] <= seq);
  if (!rows.length) return null;
  const guidance = rows.reduce((sum, n) => sum + (c.tier[n] === "guidance" ? c.calls[n] : 0), 0);
  const texts = ["tier", "agent", "model"].map((name): Column => [name, "", (n) => bdi(c[name][n])]);
  const sums = SUMS.filter(([name]) => rows.some((n) => c[name][n])).map(([name, title, write = count]): Column => [
    title,
    "num",
    (n) => write(c[name][n]),
  ]);
  const exam: Column = ["exam", "", (n) => exams.col.exam[c.exam[n]]];
  const columns = [exam, ...texts, ...sums, ["dollars", "num", (n) => dollars(c.usd[n])] as Column];
  return (
    <Section title="Exams" note={`${number(guidance, "guidance call")}; no figure above counts what exams cost.`}>
      <Table label="Cost of exams" rows={rows} columns={columns} />
    </Section>
  );
}

/** Calls of each tier in each iteration. */
function Calls({ c, rows }: { c: Record<string, any[]>; rows: number[] }) {
  const of = (n: number): number => c.iteration[n] ?? -1;
  const x = [...new Set(rows.map(of))].sort((a, b) => a - b);
  if (x.length < 2) return null;
  const lines = distinct(rows.map((n) => c.tier[n])).map((tier, k) => {
    const y = x.map(() => 0);
    for (const n of rows) if (c.tier[n] === tier) y[x.indexOf(of(n))] += c.calls[n];
    return { label: words(tier), colour: ["accent", "second", "third", "fourth"][k % 4], y };
  });
  return (
    <Section title="Calls in each iteration">
      <Chart label="Calls" x={x} lines={lines} format={count} />
    </Section>
  );
}
