/** What it cost: calls, tokens, seconds and dollars, by whatever is asked. */
import { Fragment, h } from "preact";
import { Chart } from "../charts.jsx";
import { at } from "../data.js";
import { Choice, Empty, Figures, Loading, Section, Table } from "../parts.jsx";
import { useTables, useView } from "../view.js";
import { count, dollars, number, percent, seconds, when, words } from "../words.js";

const BY = /** @type {[string, string][]} */ ([["", "tier, agent and purpose"], ["tier", "tier"], ["agent", "agent"], ["purpose", "purpose"], ["model", "model"], ["iteration", "iteration"]]);
const SUMS = ["calls", "failures", "retries", "cut", "input_tokens", "cached_tokens", "output_tokens", "thinking_tokens", "latency_us"];

export function Cost() {
  const { index, seq, other, address } = useView();
  const { value, error } = useTables(index, "cost");
  if (!value) return <Loading error={error} />;
  const t = value.cost;
  const c = t.col;
  const rows = at(t, seq);
  if (!rows.length) return <Empty title={t.rows ? "No call was made up to this moment" : "No call was made in this run"}>{t.rows ? "Move the handle below to the right." : <span>Calls are recorded as they return: <code>mage-es resume {index.run}</code></span>}</Empty>;
  const by = address.query.by ?? "";
  const columns = by ? [by] : ["tier", "agent", "purpose"];
  const groups = grouped(c, rows, columns);
  const all = sum(c, rows);
  const then = other && other.index === index ? sum(c, at(t, other.seq)) : null;
  const beside = (/** @type {string} */ name) => (then ? `B: ${count(then[name])}` : undefined);
  const keys = [...groups.keys()];
  const of = (/** @type {number} */ k) => /** @type {Record<string, any>} */ (groups.get(keys[k]));
  const any = (/** @type {string} */ name) => rows.some((n) => c[name]?.[n]);
  const show = (/** @type {string} */ name, /** @type {any} */ v) => (name === "iteration" ? when(v) : <bdi>{words(String(v ?? "–"))}</bdi>);
  return (
    <Fragment>
      <Section title="Cost" note="Up to this moment, from the log: every call and every failed attempt is an event.">
        <Figures
          figures={[
            { label: "Calls", value: count(all.calls), note: beside("calls") ?? `${number(all.failures, "failed attempt")}` },
            { label: "Tokens in", value: count(all.input_tokens), note: beside("input_tokens") ?? (all.cached_tokens ? `${percent(all.cached_tokens / all.input_tokens)} from a cache` : "none from a cache") },
            { label: "Tokens out", value: count(all.output_tokens), note: beside("output_tokens") ?? (all.thinking_tokens ? `${count(all.thinking_tokens)} of them thinking` : "no thinking") },
            { label: "Price", value: dollars(all.usd), note: all.usd === null ? "a model has no price in the table" : undefined },
          ]}
        />
      </Section>
      <Section title="Calls and tokens" tools={<Choice name="by" label="Group by" value={by} choices={BY} />}>
        <Table
          label="Cost"
          rows={keys.map((_, k) => k)}
          columns={[
            ...columns.map((name, j) => ({ name, cell: (/** @type {number} */ k) => show(name, of(k).names[j]) })),
            { name: "calls", class: "num", cell: (k) => count(of(k).calls) },
            { name: "share", title: "of all calls", class: "num", cell: (k) => percent(of(k).calls / all.calls) },
            ...(any("failures") ? [{ name: "failures", title: "failed", class: "num", cell: (/** @type {number} */ k) => count(of(k).failures) }] : []),
            ...(any("retries") ? [{ name: "retries", class: "num", cell: (/** @type {number} */ k) => count(of(k).retries) }] : []),
            ...(any("cut") ? [{ name: "cut", class: "num", cell: (/** @type {number} */ k) => count(of(k).cut) }] : []),
            { name: "input", title: "tokens in", class: "num", cell: (k) => count(of(k).input_tokens) },
            ...(any("cached_tokens") ? [{ name: "cached", class: "num", cell: (/** @type {number} */ k) => count(of(k).cached_tokens) }] : []),
            { name: "output", title: "tokens out", class: "num", cell: (k) => count(of(k).output_tokens) },
            ...(any("thinking_tokens") ? [{ name: "thinking", class: "num", cell: (/** @type {number} */ k) => count(of(k).thinking_tokens) }] : []),
            { name: "time", class: "num", cell: (k) => seconds(of(k).latency_us) },
            { name: "dollars", class: "num", cell: (k) => dollars(of(k).usd) },
          ]}
        />
      </Section>
      <Calls c={c} rows={rows} />
    </Fragment>
  );
}

/** @param {Record<string, any[]>} c @param {number[]} rows @returns {Record<string, any>} */
function sum(c, rows) {
  /** @type {Record<string, any>} */
  const sums = { usd: 0 };
  for (const name of SUMS) sums[name] = rows.reduce((total, n) => total + (c[name]?.[n] ?? 0), 0);
  for (const n of rows) sums.usd = sums.usd === null || c.usd[n] === null ? null : sums.usd + c.usd[n];
  return sums;
}

/** @param {Record<string, any[]>} c @param {number[]} rows @param {string[]} columns */
function grouped(c, rows, columns) {
  /** @type {Map<string, number[]>} */
  const lists = new Map();
  for (const n of rows) {
    const key = columns.map((name) => c[name][n]).join("\n");
    const list = lists.get(key);
    if (list) list.push(n);
    else lists.set(key, [n]);
  }
  const order = (/** @type {number[]} */ list) => columns.map((name) => c[name][list[0]]);
  return new Map(
    [...lists]
      .sort(([, a], [, b]) => {
        const [x, y] = [order(a), order(b)];
        const k = x.findIndex((one, j) => one !== y[j]);
        return k < 0 ? 0 : (x[k] ?? -1) < (y[k] ?? -1) ? -1 : 1;
      })
      .map(([key, list]) => [key, { names: order(list), ...sum(c, list) }]),
  );
}

/** Calls of each tier in each iteration. @param {{c: Record<string, any[]>, rows: number[]}} props */
function Calls({ c, rows }) {
  const x = [...new Set(rows.map((n) => c.iteration[n] ?? -1))].sort((a, b) => a - b);
  if (x.length < 2) return null;
  const tiers = [...new Set(rows.map((n) => c.tier[n]))].sort();
  const lines = tiers.map((tier, k) => ({
    label: words(tier), colour: ["accent", "second", "third", "fourth"][k % 4], dash: [undefined, [6, 4], [2, 3], [8, 3, 2, 3]][k % 4],
    y: x.map((iteration) => rows.reduce((total, n) => (c.tier[n] === tier && (c.iteration[n] ?? -1) === iteration ? total + c.calls[n] : total), 0)),
  }));
  return (
    <Section title="Calls in each iteration">
      <Chart x={x} lines={lines} label={`Calls: ${lines.map((line) => `${line.label} ${line.y.join(", ")}`).join("; ")}`} format={(v) => count(v)} name={(v) => (v < 0 ? "start" : String(v))} />
    </Section>
  );
}
