/** What a served run answered, and what came back. */
import { at, grouped, record, type Row, type Table as Data, type Tables } from "../data";
import { A, Seq, bdi, memory } from "../marks";
import { Loading, Section, Text, Title, missing } from "../parts";
import { list, listing, log, stated } from "../tables";
import { useRow, useView } from "../view";
import { capital, count, decimal, seconds, short, words } from "../words";

const NOTE =
  "Newest first. Prompts of “memory” had memories; a coin kept them out of “holdback”; “searched” gave them to an agent.";
const tokens = (n: number | null) => count(n === null || n < 0 ? null : n);

export function Traffic({ t: { inferences, feedback } }: { t: Tables }) {
  const { seq } = useView();
  const c = inferences.col;
  const said = grouped(at(feedback, seq), (k) => feedback.col.inference[k]);
  const reply = (n: number) => (said.get(n) ?? []).map((k) => value(feedback, k)).join(", ") || "–";
  const shown = (n: number) => (isGiven(record(inferences, n)) ? (c.memories[n]?.length ?? 0) : 0);
  const link = (n: number) => (
    <A to={{ page: "traffic", id: c.inference[n] }} title={c.inference[n]}>
      {bdi(c.question[n] || short(c.inference[n]))}
    </A>
  );
  return listing({
    title: "Traffic",
    note: NOTE,
    one: "inference",
    known: at(inferences, seq).reverse(),
    early: "Nothing was served up to this moment",
    search: [
      "words of question or reply, or a session",
      (n) => [c.question[n], c.inference[n], c.session[n]],
      ["exchanges", (t, n) => [t.col.question[n], t.col.reply[n]]],
    ],
    filters: ["treatment", "outcome"].map((name) => [name, capital(name), (n) => c[name][n]]),
    columns: [
      ["event", "num", (n) => <Seq seq={c.from[n]} />, (n) => c.from[n]],
      ["question", "grow", link, (n) => c.question[n]],
      ["outcome", "", (n) => words(c.outcome[n] ?? "open"), (n) => c.outcome[n]],
      ["treatment", "", (n) => words(c.treatment[n] ?? "–"), (n) => c.treatment[n]],
      ["memories", "num", (n) => count(shown(n)), shown],
      ["feedback", "", (n) => bdi(reply(n)), (n) => said.has(n)],
      ["tokens in", "num", (n) => tokens(c.input_tokens[n]), (n) => c.input_tokens[n]],
      ["tokens out", "num", (n) => tokens(c.output_tokens[n]), (n) => c.output_tokens[n]],
      ["time", "num", (n) => seconds(c.latency_us[n]), (n) => c.latency_us[n]],
    ],
  });
}

/** Whether a client got the memories that were found: in its prompt, or as the result of its search. */
const isGiven = ({ treatment, outcome }: Row) =>
  treatment === "searched" || (treatment === "memory" && outcome !== "bypassed");

/** What a client said, in a few words. */
function value({ col }: Data, k: number): string {
  const [kind, micro] = [col.kind[k], col.value_micro[k]];
  if (kind === "bool") return `${col.metric[k]}: ${micro ? "yes" : "no"}`;
  return `${col.metric[k]}: ${micro === null || kind === "demonstration" ? words(kind) : decimal(micro / 1e6)}`;
}

const FACTS = ["session", "key", "shape", "model", "treatment", "task_type", "arm", "outcome", "status", "problem"];
const HASHED = "The log keeps its hash alone: mage-es serve --record-texts keeps texts.";

export function Inference({ id, t: { inferences, feedback, memories } }: { id: string; t: Tables }) {
  const { index, seq } = useView();
  const n = inferences.col.inference.indexOf(id);
  const { value: texts, error } = useRow(index, "exchanges", n < 0 ? null : n);
  if (n < 0) return missing("traffic", `inference ${id}`);
  const one: Row = record(inferences, n);
  const own = at(feedback, seq).filter((k) => feedback.col.inference[k] === n);
  const found: number[] = (one.memories ?? []).filter((row: number | null) => row !== null);
  const isSearch = one.treatment === "searched";
  const title = isSearch ? "Memories returned" : found.length && !isGiven(one) ? "Memories kept out" : "Memories shown";
  const text = (name: string) =>
    texts?.[name] ? <Text text={texts[name]} /> : texts ? <p class="muted">{HASHED}</p> : <Loading error={error} />;
  return (
    <>
      <Title page="traffic" id={id} title={bdi(one.question || (isSearch ? "A search" : "An inference"))} />
      <Section title={isSearch ? "Query" : "Question"} children={text("question")} />
      {!isSearch && <Section title="Reply" children={text("reply")} />}
      <div class="columns">
        {stated("Request", [
          ...FACTS.map((name): any => one[name] && [words(name), bdi(words(String(one[name])))]),
          one.probability !== null && ["probability of the arm", decimal(one.probability, 3)],
          ["tokens", `${tokens(one.input_tokens)} in, ${tokens(one.output_tokens)} out`],
          ["time", `${seconds(one.latency_us)}, of it ${seconds(one.overhead_us)} in the proxy`],
          ["opened as event", <Seq seq={one.from} />],
          ["closed as event", <Seq seq={one.closed} />],
        ])}
        <Section title={title}>
          {list("turned", found, (k) => memory(memories.col.id[k], memories.col.title[k]), "None.")}
        </Section>
      </div>
      <Section title="Feedback">
        {log(own, (k) => [feedback.col.from[k], value(feedback, k), feedback.col.text[k]], "None up to this moment.")}
      </Section>
    </>
  );
}
