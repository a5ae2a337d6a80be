/** What a served run answered, and what came back. */
import { Fragment, h } from "preact";
import { A, Choice, Empty, Facts, Loading, Long, Search, Section, Seq, Text } from "../parts.jsx";
import { record } from "../data.js";
import { useTables, useView } from "../view.js";
import { count, decimal, micro, number, seconds, short, words } from "../words.js";

export function Traffic() {
  const { index, seq, address } = useView();
  const { value, error } = useTables(index, "inferences", "feedback", "memories");
  if (!value) return <Loading error={error} />;
  const { inferences: t, feedback, memories } = value;
  const c = t.col;
  if (address.id) {
    const n = c.inference.indexOf(address.id);
    if (n < 0) return <Empty title={`This run has no inference ${address.id}`}><A to={{ page: "traffic", id: "" }}>All traffic</A></Empty>;
    return <One one={record(t, n)} n={n} feedback={feedback} memories={memories} />;
  }
  const { q = "", treatment = "" } = address.query;
  const needle = q.toLowerCase();
  const rows = Array.from({ length: t.rows }, (_, n) => n).filter((n) => c.from[n] <= seq && (!treatment || c.treatment[n] === treatment) && (!needle || `${c.question[n]} ${c.inference[n]} ${c.session[n]} ${c.key[n]}`.toLowerCase().includes(needle))).reverse();
  const backs = new Map();
  for (let n = 0; n < feedback.rows; n++) if (feedback.col.from[n] <= seq) backs.set(feedback.col.inference[n], (backs.get(feedback.col.inference[n]) ?? 0) + 1);
  return (
    <Section title="Traffic" note="Newest first. The treatment says whether the prompt had memories: held back ones are the control." tools={<span class="muted">{number(rows.length, "inference")}</span>}>
      <div class="filters">
        <Search label="Search" value={q} placeholder="words, a session, a key" />
        <Choice name="treatment" label="Treatment" value={treatment} choices={[["", "all"], ...[...new Set(c.treatment)].filter(Boolean).map((one) => /** @type {[string, string]} */ ([one, words(one)]))]} />
      </div>
      {rows.length ? (
        <Long label="Traffic" rows={rows} columns={[
          { name: "event", class: "num", cell: (n) => <Seq seq={c.from[n]} /> },
          { name: "question", class: "grow", cell: (n) => <A to={{ page: "traffic", id: c.inference[n] }}><bdi>{c.question[n] ?? short(c.inference[n])}</bdi></A> },
          { name: "outcome", cell: (n) => words(c.outcome[n] ?? c.status[n] ?? "open") },
          { name: "treatment", cell: (n) => words(c.treatment[n] ?? "–") },
          { name: "memories", class: "num", cell: (n) => count(c.memories[n]?.length ?? 0) },
          { name: "feedback", class: "num", cell: (n) => count(backs.get(n) ?? 0) },
          { name: "tokens", title: "tokens in, out", class: "num", cell: (n) => `${count(c.input_tokens[n])}, ${count(c.output_tokens[n])}` },
          { name: "time", class: "num", cell: (n) => (c.latency_us[n] === null ? "–" : seconds(c.latency_us[n])) },
        ]} />
      ) : <Empty title={t.rows ? "Nothing fits here" : "Nothing was served yet"}>{t.rows ? <A to={{ query: { q: "", treatment: "" } }}>Show all</A> : "Point a client at the proxy; what it asks appears here."}</Empty>}
    </Section>
  );
}

/** @param {{one: Record<string, any>, n: number, feedback: import("../data.js").Table, memories: import("../data.js").Table}} props */
function One({ one, n, feedback, memories }) {
  const f = feedback.col;
  const own = Array.from({ length: feedback.rows }, (_, k) => k).filter((k) => f.inference[k] === n);
  const { inference, question, reply, memories: shown, from, closed, to: _to, ...rest } = one;
  return (
    <Fragment>
      <header class="title">
        <p class="crumbs"><A to={{ page: "traffic", id: "" }}>Traffic</A> / <code>{short(inference)}</code></p>
        <h1>Inference at event <Seq seq={from} /></h1>
      </header>
      <Section title="Question"><Text text={question ?? "(not kept)"} /></Section>
      <Section title="Reply" tools={<span class="muted">closed at <Seq seq={closed} /></span>}><Text text={reply ?? "(not kept)"} /></Section>
      <div class="columns">
        <Section title="Facts"><Facts rows={Object.entries(rest).filter(([, fact]) => fact !== null && fact !== "").map(([name, fact]) => [words(name.replace(/_us$/, "")), name.endsWith("_us") ? seconds(fact) : <bdi>{typeof fact === "number" ? (Number.isInteger(fact) ? count(fact) : decimal(fact, 3)) : String(fact)}</bdi>])} /></Section>
        <Section title="Memories shown">{shown?.length ? <ul>{shown.map((/** @type {number | null} */ row) => row !== null && <li key={row}><A to={{ page: "memories", id: memories.col.id[row] }}><bdi>{memories.col.title[row]}</bdi></A></li>)}</ul> : <p class="muted">None.</p>}</Section>
      </div>
      <Section title="Feedback">{own.length ? <ul class="happened">{own.map((k) => <li key={k}><Seq seq={f.from[k]} /> <span><strong>{f.metric[k]}</strong> {words(f.kind[k])} {micro(f.value_micro[k])} <bdi>{f.text[k]}</bdi></span></li>)}</ul> : <p class="muted">None came back.</p>}</Section>
    </Fragment>
  );
}

