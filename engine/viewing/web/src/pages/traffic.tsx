/** What a served run answered, and what came back. */
import { Fragment, h } from "preact";
import { needle } from "../address";
import { all, distinct, grouped, record } from "../data";
import type { Row, Table as Data, Tables } from "../data";
import { A, Seq, bdi, memory } from "../marks";
import { Choice, Empty, Facts, List, Loading, Log, Nothing, Search, Section, Table, Text, Title } from "../parts";
import { useRow, useView } from "../view";
import { count, decimal, listed, seconds, short, words } from "../words";

const NOTE =
  "Newest first. Memories went into the prompts of the treatment “memory”; of “holdback” a coin kept them out, for " +
  "mage-es gain to compare.";

export function Traffic({ t: { inferences: t, feedback, memories } }: { t: Tables }) {
  const { seq, address } = useView();
  const c = t.col;
  if (address.id) {
    const n = c.inference.indexOf(address.id);
    if (n >= 0) return <One one={record(t, n)} n={n} feedback={feedback} memories={memories} />;
    const back = <A to={{ page: "traffic", id: "" }} children="All traffic" />;
    return <Empty title={`This run has no inference ${address.id}`} children={back} />;
  }
  const { treatment = "", outcome = "" } = address.query;
  const text = needle(address.query);
  const known = all(t).filter((n) => c.from[n] <= seq);
  const rows = known
    .filter((n) => (!treatment || c.treatment[n] === treatment) && (!outcome || c.outcome[n] === outcome))
    .filter((n) => !text || `${c.question[n]}\n${c.inference[n]}\n${c.session[n]}`.toLowerCase().includes(text))
    .reverse();
  const none = known.length ? "No inference fits these filters" : "Nothing was served up to this moment";
  const said = grouped(all(feedback).filter((k) => feedback.col.from[k] <= seq), (k) => feedback.col.inference[k]); // prettier-ignore
  return (
    <Section title="Traffic" note={NOTE} tools={listed(rows.length, known.length, "inference")}>
      <div class="filters">
        <Search hint="words or a session" />
        <Choice name="treatment" label="Treatment" of={distinct(c.treatment)} />
        <Choice name="outcome" label="Outcome" of={distinct(c.outcome)} />
      </div>
      <Table
        label="Traffic"
        rows={rows}
        none={<Nothing title={none} known={known.length} filters={["q", "treatment", "outcome"]} />}
        columns={[
          ["event", "num", (n) => <Seq seq={c.from[n]} />],
          ["question", "grow", (n) => link(c.inference[n], c.question[n])],
          ["outcome", "", (n) => words(c.outcome[n] ?? "open")],
          ["treatment", "", (n) => words(c.treatment[n] ?? "–")],
          ["memories", "num", (n) => count(c.treatment[n] === "memory" ? (c.memories[n]?.length ?? 0) : 0)],
          ["feedback", "", (n) => bdi((said.get(n) ?? []).map((k) => value(feedback, k)).join(", ") || "–")],
          ["tokens in", "num", (n) => tokens(c.input_tokens[n])],
          ["tokens out", "num", (n) => tokens(c.output_tokens[n])],
          ["time", "num", (n) => seconds(c.latency_us[n])],
        ]}
      />
    </Section>
  );
}

const link = (id: string, title: string | null) => (
  <A to={{ page: "traffic", id }} title={id} children={bdi(title || short(id))} />
);
const tokens = (n: number | null) => count(n === null || n < 0 ? null : n);

/** What a client said, in a few words. */
function value({ col }: Data, k: number): string {
  const micro = col.value_micro[k];
  if (col.kind[k] === "bool") return `${col.metric[k]}: ${micro ? "yes" : "no"}`;
  return `${col.metric[k]}: ${micro === null || col.kind[k] === "demonstration" ? words(col.kind[k]) : decimal(micro / 1e6)}`;
}

const FACTS = ["session", "key", "shape", "model", "treatment", "task_type", "arm", "outcome", "status", "problem"];

function One({ one, n, feedback, memories }: { one: Row; n: number; feedback: Data; memories: Data }) {
  const { index, seq } = useView();
  const { value: texts, error } = useRow(index, "exchanges", n);
  const own = all(feedback).filter((k) => feedback.col.inference[k] === n && feedback.col.from[k] <= seq);
  const shown: number[] = (one.memories ?? []).filter((row: number | null) => row !== null);
  const { id, title } = memories.col;
  const kept = "The log keeps its hash alone: mage-es serve --record-texts keeps texts.";
  const took = `${seconds(one.latency_us)}, of it ${seconds(one.overhead_us)} in the proxy`;
  return (
    <Fragment>
      <Title page="traffic" all="Traffic" id={one.inference} title={bdi(one.question || "An inference")} />
      {["question", "reply"].map((name) => (
        <Section title={name === "reply" ? "Reply" : "Question"}>
          {texts ? texts[name] ? <Text text={texts[name]} /> : <p class="muted">{kept}</p> : <Loading error={error} />}
        </Section>
      ))}
      <div class="columns">
        <Section title="Request">
          <Facts
            rows={[
              ...FACTS.map((name): any => one[name] && [words(name), bdi(words(String(one[name])))]),
              one.probability !== null && ["probability of the arm", decimal(one.probability, 3)],
              ["tokens", `${tokens(one.input_tokens)} in, ${tokens(one.output_tokens)} out`],
              ["time", took],
              ["opened as event", <Seq seq={one.from} />],
              ["closed as event", <Seq seq={one.closed} />],
            ]}
          />
        </Section>
        <Section title={one.treatment === "holdback" ? "Memories kept out" : "Memories shown"}>
          {!shown.length && <p class="muted">None.</p>}
          <List kind="turned" items={shown.map((row) => memory(id[row], title[row]))} />
        </Section>
      </div>
      <Section title="Feedback">
        {!own.length && <p class="muted">None up to this moment.</p>}
        <Log rows={own.map((k) => [feedback.col.from[k], value(feedback, k), feedback.col.text[k]])} />
      </Section>
    </Fragment>
  );
}
