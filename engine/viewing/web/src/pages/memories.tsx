/** What was learned: every memory, from what it was made, where it was shown, what it did. */
import { Fragment, h } from "preact";
import { useMemo } from "preact/hooks";
import { needle } from "../address";
import { byQuestion, titleOf } from "../asked";
import { all, at, distinct, record } from "../data";
import type { Row, Table as Data, Tables } from "../data";
import { A, Bar, Seq, bdi, memory, muted, question, ratio, verdict } from "../marks";
import { Choice, Command, Empty, Facts, Loading, Nothing, Plain, Search, Section, Table, Text, Title } from "../parts";
import { useRow, useView } from "../view";
import { count, listed, micro, number, percent, short, when, words } from "../words";

/** The state of each memory at a moment, by its row. */
export const statesAt = (states: Data, seq: number) => new Map(at(states, seq).map((n) => [states.col.memory[n], n]));

const FILTERS = ["q", "kind", "status", "type"];

export function Memories({ t }: { t: Tables }) {
  const { index, seq, second, address } = useView();
  const { memories, memory_states: states } = t;
  const { kind = "", status = "", type = "" } = address.query;
  const now = useMemo(() => statesAt(states, seq), [states, seq]);
  const then = useMemo(() => (second === null ? null : statesAt(states, second)), [states, second]);
  const c = memories.col;
  const s = states.col;
  const kinds = useMemo(() => [distinct(c.kind), distinct([...s.status, "quarantined"]), distinct(c.task_type)], [t]);
  if (!memories.rows) {
    const resume = `Memories come with the first closed iteration: mage-es resume ${index.named}`;
    const why = index.kind === "baseline" ? "A baseline learns nothing." : resume;
    return <Empty title="Nothing was learned in this run" children={why} />;
  }
  const statusOf = (n: number | undefined): string => (n === undefined ? "" : s.status[n]);
  const text = needle(address.query);
  const known = all(memories).filter((n) => now.has(n) || then?.has(n));
  const rows = known.filter((n) => {
    const is = statusOf(now.get(n));
    if (status === "differs" ? is === statusOf(then?.get(n)) : status && is !== status) return false;
    if ((kind && c.kind[n] !== kind) || (type && c.task_type[n] !== type)) return false;
    return !text || `${c.title[n]}\n${c.id[n]}\n${c.skill[n]}`.toLowerCase().includes(text);
  });
  const shown = (n: number | undefined) => (n === undefined ? muted("not yet") : verdict(s.status[n]));
  const unheld = status === "quarantined" && !rows.some((n) => now.has(n)) && !kind && !type && !text;
  const none = unheld ? "Nothing was quarantined up to this moment" : "No memory fits these filters";
  const early = "Nothing was learned up to this moment";
  return (
    <Section title="Memories" tools={listed(rows.length, known.length, "memory", "memories")}>
      <div class="filters">
        <Search hint="words, a skill or an id" />
        <Choice name="kind" label="Kind" of={kinds[0]} />
        <Choice
          name="status"
          label="Status"
          of={then ? [...kinds[1], ["differs", "differs between A and B"]] : kinds[1]}
        />
        <Choice name="type" label="Task type" of={kinds[2]} />
      </div>
      <Table
        label="Memories"
        rows={rows}
        none={<Nothing title={known.length ? none : early} known={known.length} filters={FILTERS} />}
        columns={[
          [then ? "A" : "status", "narrow", (n) => shown(now.get(n))],
          then && ["B", "narrow", (n) => shown(then.get(n))],
          ["what", "grow", (n) => memory(c.id[n], c.title[n] || short(c.id[n]))],
          ["kind", "", (n) => words(c.kind[n])],
          ["since", "", (n) => when(c.iteration[n])],
          ["prompts, whole run", "num", (n) => count(c.prompts[n])],
          ["right", "num", (n) => ratio(c.right[n], c.prompts[n])],
          ["skill", "", (n) => bdi(c.skill[n] ?? "–")],
        ]}
      />
    </Section>
  );
}

export function MemoryPage({ id, t }: { id: string; t: Tables }) {
  const { index, seq, second } = useView();
  const { memories, memory_states: states, curations } = t;
  const ids: string[] = memories.col.id ?? [];
  const n = ids.findIndex((one) => one === id || (id.length >= 8 && one.startsWith(id)));
  const { value: text, error } = useRow(index, "texts", n < 0 ? null : n);
  const everything = <A to={{ page: "memories", id: "" }} children="All memories" />;
  if (n < 0) return <Empty title={`This run has no memory ${id}`} children={everything} />;
  const one = record(memories, n);
  const s = states.col;
  const now = statesAt(states, seq).get(n);
  const then = second === null ? undefined : statesAt(states, second).get(n);
  const created = { query: { at: `seq:${one.from}` } };
  const life = all(states).filter((k) => s.memory[k] === n && s.from[k] <= seq);
  const changes = life.filter((k, j) => j > 0 && s.status[k] !== s.status[life[j - 1]]);
  const acts = all(curations).map((k) => record(curations, k)).filter((act) => act.memory === n && act.from <= seq); // prettier-ignore
  const held = now !== undefined && s.status[now] === "quarantined";
  const kept = `mage-es memory quarantine ${one.id} ${index.named} --reason "..."`;
  const since = when(one.iteration, one.phase);
  return (
    <Fragment>
      <Title page="memories" all="Memories" id={one.id} title={bdi(one.title || short(one.id))}>
        <p class="muted">
          {words(one.kind)}, {one.task_type && <Fragment>task type {bdi(one.task_type)}, </Fragment>}
          {one.skill && <A to={{ page: "graph", id: `skill/${one.skill}` }} children={bdi(`skill ${one.skill}`)} />}
          {one.skill && ", "}learned in <A to={{ query: { at: since } }} children={since} />
        </p>
      </Title>
      {now === undefined && (
        <Empty title="Not learned yet at this moment">
          <A to={created} children={`Go to event ${count(one.from)}, which made it`} />
        </Empty>
      )}
      <div class="columns">
        <Section title="State">
          <Facts
            rows={[
              ["status", now === undefined ? "not yet" : verdict(s.status[now])],
              then !== undefined && ["at B", verdict(s.status[then])],
              now !== undefined && s.by[now] !== null && ["superseded by", memory(ids[s.by[now]])],
              now !== undefined && s.confidence_micro[now] !== null && ["confidence", micro(s.confidence_micro[now])],
              ["created", <Seq seq={one.from} />],
              ...changes.map((k): [any, any] => [verdict(s.status[k]), <Seq seq={s.from[k]} />]),
            ]}
          />
          {acts.map((act) => (
            <p key={act.from}>
              <Seq seq={act.from} /> <strong>{words(act.what)}</strong> by {bdi(act.by || "the run")}
              {act.reason && ": "}
              {bdi(act.reason)}
            </p>
          ))}
          {now !== undefined && (
            <Fragment>
              <p class="note">{held ? "To let it into prompts again:" : "To keep it out of every prompt:"}</p>
              <Command text={held ? `mage-es memory release ${one.id} ${index.named} --reason "..."` : kept} />
            </Fragment>
          )}
        </Section>
        <Effect text={text} askings={t.askings} />
      </div>
      {!text && <Loading error={error} />}
      {text && <Words text={text} />}
      {text && <Origin one={one} text={text} t={t} />}
      {text && <Shown text={text} t={t} />}
    </Fragment>
  );
}

function Effect({ text, askings }: { text: Row | null; askings: Data }) {
  const { index, seq } = useView();
  const c = askings.col;
  const judged = (text?.shown ?? []).filter((n: number) => c.judged[n] !== null && c.judged[n] <= seq);
  const right = judged.filter((n: number) => c.verdict[n] === "correct");
  const rows: [string, number, number][] = [["shown, up to this moment", right.length, judged.length]];
  const of = byQuestion(askings);
  const seen = new Set<number>(judged.flatMap((n: number) => of.get(c.question[n]) ?? []));
  for (const n of text?.shown ?? []) seen.delete(n);
  const without = [...seen].filter((n) => c.judged[n] !== null && c.judged[n] <= seq && !c.carried[n]);
  const others = without.filter((n) => c.verdict[n] === "correct").length;
  if (without.length) rows.push(["the same questions, asked without it", others, without.length]);
  if (text && seq < index.last) rows.push(["shown, over the whole run", text.right, text.asked]);
  const coin = text !== null && text.coin_asked > 0 && text.left_asked > 0;
  if (text && coin) {
    rows.push(["a coin let it in", text.coin_right, text.coin_asked]);
    rows.push(["a coin left it out", text.left_right, text.left_asked]);
  }
  const note = coin
    ? "Where a coin decided, the two shares can be compared: nothing else told the questions apart."
    : "How often the answer was right where it was shown. It shows no cause: similar questions see similar memories.";
  const bar = (yes: number, of: number) => (of ? <Bar share={yes / of} text={percent(yes / of)} tone="good" /> : "–");
  return (
    <Section title="Effect" note={note}>
      <Plain heads={["where", "n", "right"]} rows={rows.map(([name, yes, of]) => [name, count(of), bar(yes, of)])} />
    </Section>
  );
}

const ELSEWHERE = ["outcome", "kind", "task_type", "question_id", "status", "met"];

function Words({ text }: { text: Row }) {
  const fields: [string, string][] = (text.fields ?? []).filter(([name]: [string]) => !ELSEWHERE.includes(name));
  const brief = ([, value]: [string, string]) => value.length <= 100 && !value.includes("\n");
  return (
    <Section title="Text">
      {fields.map(
        (field) =>
          !brief(field) && (
            <div key={field[0]}>
              <h3>{words(field[0])}</h3>
              <Text text={field[1]} />
            </div>
          ),
      )}
      <Facts rows={fields.filter(brief).map(([name, value]) => [words(name), bdi(value)])} />
    </Section>
  );
}

function Origin({ one, text, t }: { one: Row; text: Row; t: Tables }) {
  const { id, title } = t.questions.col;
  const facts: number[] = text.facts ?? [];
  const more = facts.length > 40 ? ` and ${count(facts.length - 40)} more` : "";
  const events = facts.slice(0, 40).map((seq) => <Seq key={seq} seq={seq} />);
  const saw = Array.isArray(text.saw) ? text.saw.join(", ") : text.saw;
  return (
    <Section title="Where it comes from">
      <Facts
        rows={[
          one.question !== null && ["question", question(id[one.question], title[one.question])],
          facts.length > 0 && ["verdicts and calls", <span class="seqs" children={[...events, more]} />],
          text.missing > 0 && ["from a parent's log", `${number(text.missing, "event")} that this log does not hold`],
          text.writer && ["written by", bdi(text.writer)],
          ["written from", bdi(!saw || saw === "nothing" ? "its own reply only" : saw)],
          text.given_by && ["given by", bdi(text.given_by)],
          ["recorded as event", <Seq seq={one.from} />],
        ]}
      />
    </Section>
  );
}

/** Every prompt that showed it. */
function Shown({ text, t }: { text: Row; t: Tables }) {
  const { seq } = useView();
  const { askings, exams, questions } = t;
  const c = askings.col;
  const rows: number[] = (text.shown ?? []).filter((n: number) => c.from[n] <= seq);
  const later = (text.shown ?? []).length - rows.length;
  const asked = (n: number) => {
    const ask = c.exam[n] === null ? `seq:${c.from[n]}` : exams.col.exam[c.exam[n]];
    return question(questions.col.id[c.question[n]], questions.col.title[c.question[n]], { ask });
  };
  return (
    <Section title="Prompts that showed it" note={later > 0 && `${number(later, "prompt")} more after this moment.`}>
      <Table
        label="Prompts that showed it"
        rows={rows}
        none={<p class="muted">No prompt up to this moment.</p>}
        height={400}
        columns={[
          ["verdict", "narrow", (n) => verdict(c.verdict[n])],
          ["question", "grow", asked],
          ["when", "", (n) => titleOf(t, n)],
          ["route", "", (n) => words(c.routing_arm[n] || "–")],
          ["memories shown", "num", (n) => count(c.memories[n])],
        ]}
      />
    </Section>
  );
}
