/** What was learned: every memory, from what it was made, where it was shown, what it did. */
import { Fragment, h } from "preact";
import { useMemo } from "preact/hooks";
import { told } from "./question.jsx";
import { Bar } from "../charts.jsx";
import { at, record } from "../data.js";
import { A, Choice, Command, Empty, Facts, Loading, Long, Search, Section, Seq, Text, Verdict } from "../parts.jsx";
import { useRow, useTables, useView } from "../view.js";
import { count, micro, number, percent, share, short, when, words } from "../words.js";

export function Memories() {
  const view = useView();
  const { value, error } = useTables(view.index, "memories", "memory_states", "curations", "questions", "askings", "exams");
  if (!value) return <Loading error={error} />;
  if (!value.memories.rows)
    return <Empty title="Nothing was learned in this run">{view.index.kind === "baseline" ? "A baseline learns nothing." : <span>Memories come with the first closed iteration: <code>mage-es resume {view.index.run}</code></span>}</Empty>;
  if (view.address.id) return <One tables={value} id={view.address.id} />;
  return <List tables={value} />;
}

/** The state of each memory at a moment, by row. @param {import("../data.js").Table} states @param {number} seq */
export function statesAt(states, seq) {
  return new Map(at(states, seq).map((n) => [states.col.memory[n], n]));
}

/** @param {{tables: Record<string, import("../data.js").Table>}} props */
function List({ tables }) {
  const { index, seq, other, address } = useView();
  const { memories, memory_states: states } = tables;
  const { q = "", kind = "", status = "", type = "" } = address.query;
  const second = other && other.index === index ? other.seq : null;
  const now = useMemo(() => statesAt(states, seq), [states, seq]);
  const then = useMemo(() => (second === null ? null : statesAt(states, second)), [states, second]);
  const c = memories.col;
  const s = states.col;
  const needle = q.toLowerCase();
  const rows = [];
  let known = 0;
  for (let n = 0; n < memories.rows; n++) {
    const state = now.get(n);
    const before = then?.get(n);
    if (state === undefined && before === undefined) continue;
    known++;
    const is = state === undefined ? "" : s.status[state];
    if (status === "differs" ? is === (before === undefined ? "" : s.status[before]) : status && is !== status) continue;
    if ((kind && c.kind[n] !== kind) || (type && c.task_type[n] !== type)) continue;
    if (needle && !`${c.title[n]} ${c.id[n]} ${c.skill[n]}`.toLowerCase().includes(needle)) continue;
    rows.push(n);
  }
  const choices = useMemo(() => [c.kind, s.status, c.task_type].map((values) => [...new Set(values)].filter(Boolean).sort().map((one) => /** @type {[string, string]} */ ([one, words(one)]))), [memories, states]);
  const status_ = (/** @type {number | undefined} */ n) => (n === undefined ? <span class="muted">not yet</span> : <Verdict of={s.status[n]} />);
  return (
    <Section title="Memories" tools={<span class="muted">{rows.length === known ? number(known, "memory", "memories") : `${count(rows.length)} of ${number(known, "memory", "memories")}`}</span>}>
      <div class="filters">
        <Search label="Search" value={q} placeholder="words, a skill or an id" />
        <Choice name="kind" label="Kind" value={kind} choices={[["", "all"], ...choices[0]]} />
        <Choice name="status" label="Status" value={status} choices={[["", "all"], ...choices[1], ...(then ? [/** @type {[string, string]} */ (["differs", "differs between A and B"])] : [])]} />
        <Choice name="type" label="Task type" value={type} choices={[["", "all"], ...choices[2]]} />
      </div>
      {rows.length ? (
        <Long
          label="Memories"
          rows={rows}
          columns={[
            { name: "status", title: then ? "A" : "status", class: "narrow", cell: (n) => status_(now.get(n)) },
            ...(then ? [{ name: "b", title: "B", class: "narrow", cell: (/** @type {number} */ n) => status_(then.get(n)) }] : []),
            { name: "what", class: "grow", cell: (n) => <A to={{ page: "memories", id: c.id[n] }} title={c.id[n]}><bdi>{c.title[n] || short(c.id[n])}</bdi></A> },
            { name: "kind", cell: (n) => words(c.kind[n]) },
            { name: "since", cell: (n) => when(c.iteration[n]) },
            { name: "met", title: "prompts", class: "num", cell: (n) => count(s.met[now.get(n) ?? -1]) },
            ...(s.successes.some((one) => one !== null) ? [{ name: "right", title: "then right", class: "num", cell: (/** @type {number} */ n) => effect(s, now.get(n)) }] : []),
            { name: "skill", cell: (n) => <bdi>{c.skill[n] ?? "–"}</bdi> },
          ]}
        />
      ) : (
        <Empty title={known ? "No memory fits these filters" : "Nothing was learned up to this moment"}>
          {known ? <A to={{ query: { q: "", kind: "", status: "", type: "" } }}>Show all {count(known)}</A> : "Move the handle below to the right."}
        </Empty>
      )}
    </Section>
  );
}

/** @param {Record<string, any[]>} s @param {number | undefined} n */
function effect(s, n) {
  const right = n === undefined ? 0 : (s.successes[n] ?? 0);
  const all = n === undefined ? 0 : right + (s.failures[n] ?? 0);
  return all ? <Fragment><span class="muted">{right}/{all}</span> {share(right, all)}</Fragment> : "–";
}

/** @param {{tables: Record<string, import("../data.js").Table>, id: string}} props */
function One({ tables, id }) {
  const { index, seq, other } = useView();
  const { memories, memory_states: states, curations, questions, askings, exams } = tables;
  const n = memories.col.id.findIndex((one) => one === id || (id.length >= 8 && one.startsWith(id)));
  const text = useRow(index, "texts", n < 0 ? null : (n));
  if (n < 0) return <Empty title={`This run has no memory ${id}`}><A to={{ page: "memories", id: "" }}>All memories</A></Empty>;
  const memory = record(memories, n);
  const now = statesAt(states, seq).get(n);
  const then = other && other.index === index ? statesAt(states, other.seq).get(n) : undefined;
  const s = states.col;
  const status = now === undefined ? null : s.status[now];
  const acts = Array.from({ length: curations.rows }, (_, k) => k).filter((k) => curations.col.memory[k] === n && curations.col.from[k] <= seq);
  const life = Array.from({ length: states.rows }, (_, k) => k).filter((k) => s.memory[k] === n && s.from[k] <= seq);
  const changes = life.filter((k, j) => j === 0 || s.status[k] !== s.status[life[j - 1]]);
  return (
    <Fragment>
      <header class="title">
        <p class="crumbs"><A to={{ page: "memories", id: "" }}>Memories</A> / <code>{id}</code></p>
        <h1><bdi>{memory.title || short(memory.id)}</bdi></h1>
        <p class="muted">{words(memory.kind)}, {memory.task_type && <Fragment>task type <bdi>{memory.task_type}</bdi>, </Fragment>}{memory.skill && <Fragment>skill <A to={{ page: "graph", id: `skill/${memory.skill}` }}><bdi>{memory.skill}</bdi></A>, </Fragment>}learned in <A to={{ query: { at: when(memory.iteration, memory.phase) } }}>{when(memory.iteration, memory.phase)}</A></p>
      </header>
      {now === undefined && <Empty title="Not learned yet at this moment"><A to={{ query: { at: `seq:${memory.from}` } }}>Go to event {count(memory.from)}, which made it</A></Empty>}
      <div class="columns">
        <Section title="State">
          <Facts
            rows={[
              ["status", status ? <Verdict of={status} /> : "not yet"],
              ...(then !== undefined ? [["at B", <Verdict of={s.status[then]} />]] : []),
              ...(now !== undefined && s.by[now] !== null ? [["superseded by", <A to={{ page: "memories", id: memories.col.id[s.by[now]] }}><code>{short(memories.col.id[s.by[now]])}</code></A>]] : []),
              ...(now !== undefined && s.confidence_micro[now] !== null ? [["confidence", micro(s.confidence_micro[now])]] : []),
              ["born", <Seq seq={memory.from} />],
              ...changes.slice(1).map((k) => [<Seq seq={s.from[k]} />, <Verdict of={s.status[k]} />]),
            ]}
          />
          {acts.map((k) => <p key={k} class="act"><Seq seq={curations.col.from[k]} /> <strong>{words(curations.col.what[k])}</strong> by <bdi>{curations.col.by[k] || "the run"}</bdi>{curations.col.reason[k] && <Fragment>: <bdi>{curations.col.reason[k]}</bdi></Fragment>}</p>)}
          {status && (
            <Fragment>
              <p class="note">{status === "quarantined" ? "To let it into prompts again" : "To keep it out of every prompt"} (this page writes nothing):</p>
              <Command text={status === "quarantined" ? `mage-es memory release ${memory.id} ${index.run}` : `mage-es memory quarantine ${memory.id} ${index.run} --reason "..."`} />
            </Fragment>
          )}
        </Section>
        <Effect text={text.value} askings={askings} />
      </div>
      {text.value ? <Fragment><Words text={text.value} /><Origin memory={memory} text={text.value} questions={questions} /><Shown text={text.value} askings={askings} exams={exams} questions={questions} /></Fragment> : <Loading error={text.error} />}
    </Fragment>
  );
}

/** @param {{text: Record<string, any> | null, askings: import("../data.js").Table}} props */
function Effect({ text, askings }) {
  const { seq } = useView();
  const c = askings.col;
  const judged = (text?.shown ?? []).filter((/** @type {number} */ n) => c.judged[n] !== null && c.judged[n] <= seq);
  const right = judged.filter((/** @type {number} */ n) => c.verdict[n] === "correct");
  const lines = /** @type {[string, number, number][]} */ ([
    ["shown, up to this moment", right.length, judged.length],
    ...(text ? [["shown, over the whole run", text.right, text.asked], ["a coin let it in", text.coin_right, text.coin_asked], ["a coin left it out", text.left_right, text.left_asked]] : []),
  ]);
  const coin = text && text.coin_asked > 0 && text.left_asked > 0;
  return (
    <Section title="Effect" note={coin ? "Where a coin decided, the two shares can be compared: nothing else told the questions apart." : "How often the answer was right where it was shown. It shows no cause: similar questions see similar memories."}>
      <table class="plain">
        <thead><tr><th scope="col">where</th><th scope="col" class="num">n</th><th scope="col" class="num">right</th></tr></thead>
        <tbody>{lines.filter(([, , asked], n) => asked || n < 2).map(([name, yes, asked]) => <tr key={name}><th scope="row">{name}</th><td class="num">{count(asked)}</td><td class="num">{asked ? <Bar share={yes / asked} text={percent(yes / asked)} tone="good" /> : "–"}</td></tr>)}</tbody>
      </table>
    </Section>
  );
}

/** @param {{text: Record<string, any>}} props */
function Words({ text }) {
  const fields = /** @type {[string, string][]} */ (text.fields ?? []).filter(([name]) => !["outcome", "kind", "task_type", "question_id"].includes(name));
  const brief = fields.filter(([, value]) => value.length <= 100 && !value.includes("\n"));
  return (
    <Section title="Text">
      {fields.filter((field) => !brief.includes(field)).map(([name, value]) => <div key={name}><h3>{words(name)}</h3><Text text={value} /></div>)}
      {brief.length > 0 && <Facts rows={brief.map(([name, value]) => [words(name), <bdi>{value}</bdi>])} />}
    </Section>
  );
}

/** @param {{memory: Record<string, any>, text: Record<string, any>, questions: import("../data.js").Table}} props */
function Origin({ memory, text, questions }) {
  return (
    <Section title="Where it comes from">
      <ol class="chain">
        {memory.question !== null && <li><span class="muted">question</span> <A to={{ page: "questions", id: questions.col.id[memory.question] }}><bdi>{questions.col.title[memory.question] || questions.col.id[memory.question]}</bdi></A></li>}
        {text.facts?.length > 0 && <li><span class="muted">verdicts and calls</span> <span class="seqs">{text.facts.slice(0, 40).map((/** @type {number} */ seq) => <Seq key={seq} seq={seq} />)}{text.facts.length > 40 && ` and ${count(text.facts.length - 40)} more`}</span></li>}
        {text.missing > 0 && <li><span class="muted">from a parent's log</span> {number(text.missing, "event")} that this log does not hold</li>}
        {text.writer && <li><span class="muted">written by</span> <bdi>{text.writer}</bdi></li>}
        {text.given_by && <li><span class="muted">given by</span> <bdi>{text.given_by}</bdi></li>}
        {text.saw && <li><span class="muted">who may have seen the answer</span> <bdi>{Array.isArray(text.saw) ? text.saw.join(", ") : text.saw}</bdi></li>}
        <li><span class="muted">recorded as</span> event <Seq seq={memory.from} /></li>
      </ol>
    </Section>
  );
}

/** Every prompt that showed it. @param {{text: Record<string, any>, askings: import("../data.js").Table, exams: import("../data.js").Table, questions: import("../data.js").Table}} props */
function Shown({ text, askings, exams, questions }) {
  const { seq } = useView();
  const c = askings.col;
  const rows = (text.shown ?? []).filter((/** @type {number} */ n) => c.from[n] <= seq);
  const later = (text.shown?.length ?? 0) - rows.length;
  return (
    <Section title="Prompts that showed it" note={later > 0 ? `${number(later, "prompt")} more after this moment.` : undefined}>
      {rows.length ? (
        <Long
          label="Prompts that showed it"
          rows={rows}
          height={360}
          columns={[
            { name: "verdict", class: "narrow", cell: (n) => <Verdict of={c.verdict[n]} /> },
            { name: "question", class: "grow", cell: (n) => <A to={{ page: "questions", id: questions.col.id[c.question[n]], query: { ask: c.exam[n] === null ? `seq:${c.from[n]}` : exams.col.exam[c.exam[n]] } }}><bdi>{questions.col.title[c.question[n]] || questions.col.id[c.question[n]]}</bdi></A> },
            { name: "when", cell: (n) => told(askings, exams, n) },
            { name: "route", cell: (n) => c.routing_arm[n] ?? "–" },
            { name: "memories", title: "memories shown", class: "num", cell: (n) => count(c.memories[n]) },
          ]}
        />
      ) : (
        <p class="muted">No prompt up to this moment.</p>
      )}
    </Section>
  );
}

