/** One question: how it was asked, what it saw, what it answered, and what differed from another time. */
import { Fragment, h } from "preact";
import { useEffect, useState } from "preact/hooks";
import { byQuestion, nameOf, questionRow } from "../asked.js";
import { Bar, Difference } from "../charts.jsx";
import { record } from "../data.js";
import { A, Command, Empty, Facts, Loading, Scroll, Section, Seq, Text, Verdict } from "../parts.jsx";
import { useRow, useTables, useView } from "../view.js";
import { count, decimal, micro, number, seconds, short, visible, when, words } from "../words.js";

/**
 * @typedef {Record<string, any>} Row
 * @typedef {[number | null, string, number | null, string]} Shown a memory's row, id, similarity, and what it is
 * @typedef {Row & {prompt: (string | {t: number, source: string})[]}} Move
 * @typedef {Row & {bundle: Shown[], left_out: Shown[], calls: Move[], texts: string[], arms: [string, string, number][]}} Answer
 */

/** @param {{tables: Record<string, import("../data.js").Table>, id: string}} props */
export function Question({ tables, id }) {
  const { index, seq, other, address } = useView();
  const { questions, askings, exams } = tables;
  const q = questionRow(questions, id);
  const list = byQuestion(askings).get(q) ?? [];
  const c = askings.col;
  const known = list.filter((n) => c.from[n] <= seq);
  const wanted = address.query.ask ? list.find((n) => nameOf(askings, exams, n) === address.query.ask) : undefined;
  const own = known.filter((k) => c.exam[k] === null && !c.carried[k]);
  const n = wanted ?? (own.length ? own : known).at(-1) ?? null;
  const text = useRow(index, "answers", n);
  if (q < 0) return <Empty title={`This run has no question ${id}`}><A to={{ page: "questions", id: "" }}>All questions</A></Empty>;
  const question = record(questions, q);
  const series = n === null ? [] : list.filter((k) => k === n || ((c.exam[k] === null) === (c.exam[n] === null) && !c.carried[k]));
  const against = address.query.and ? list.find((k) => nameOf(askings, exams, k) === address.query.and) : undefined;
  const moment = other && other.index === index ? series.findLast((k) => c.from[k] <= other.seq && k !== n) : undefined;
  const before = against ?? moment ?? (n === null ? undefined : series[series.indexOf(n) - 1]) ?? null;
  return (
    <Fragment>
      <header class="title">
        <p class="crumbs"><A to={{ page: "questions", id: "" }}>Questions</A> / <bdi>{id}</bdi></p>
        <h1><bdi>{text.value?.question_text && text.value.question_text.length < 500 ? text.value.question_text : question.title || id}</bdi></h1>
        <p class="muted">{words(question.split)} split, task type <bdi>{question.task_type ?? "not told"}</bdi>, asked {number(list.length, "time")}, {number(known.length, "time")} up to this moment</p>
      </header>
      <Times list={list} n={n} before={before} tables={tables} />
      {n === null ? (
        <Empty title="Not asked up to this moment">{list.length > 0 && <A to={{ query: { at: "", ask: nameOf(askings, exams, list[0]) } }}>See it when it was first asked</A>}</Empty>
      ) : (
        <Fragment>
          {before !== null && <Changed tables={tables} before={before} after={n} />}
          <Asked tables={tables} n={n} />
        </Fragment>
      )}
    </Fragment>
  );
}

/** @param {import("../data.js").Table} askings @param {import("../data.js").Table} exams @param {number} n */
const told = (askings, exams, n) => {
  const exam = askings.col.exam[n];
  return exam === null ? `${when(askings.col.iteration[n])} ${askings.col.purpose[n]}` : `exam ${exams.col.exam[exam]}`;
};

/** Each time it was asked, to choose from. @param {{list: number[], n: number | null, before: number | null, tables: Record<string, import("../data.js").Table>}} props */
function Times({ list, n, before, tables }) {
  const { seq, address } = useView();
  const { askings, exams } = tables;
  const c = askings.col;
  return (
    <nav class="times" aria-label="Each time it was asked">
      {list.map((k) => {
        const future = c.from[k] > seq;
        return (
          <A key={k} to={{ query: { ask: nameOf(askings, exams, k), and: address.query.and === nameOf(askings, exams, k) ? "" : (address.query.and ?? "") } }} class={`time ${k === n ? "now" : ""} ${k === before ? "before" : ""} ${future ? "later" : ""} ${c.carried[k] ? "carried" : ""}`}
            title={future ? "after the moment shown" : c.carried[k] ? "not asked again: the earlier verdict holds" : undefined} label={`${told(askings, exams, k)}: ${words(c.verdict[k])}${k === n ? ", shown" : ""}${k === before ? ", compared with" : ""}`} current={k === n}>
            <Verdict of={c.verdict[k]} bare />
            <span>{told(askings, exams, k)}</span>
          </A>
        );
      })}
    </nav>
  );
}

/** @param {Answer} answer @param {Move} call */
const prompt = (answer, call) => call.prompt.map((piece) => (typeof piece === "string" ? piece : answer.texts[piece.t])).join("");

/** @param {Answer} answer */
export const calls = (answer) => answer.calls.filter((move) => move.kind === "call");

/** Every prompt of an answer. @param {Answer} answer */
export const whole = (answer) => calls(answer).map((call) => `${call.system ? `${call.system}\n\n` : ""}${prompt(answer, call)}`).join("\n\n");

/** Why the answer differs: what was different between two times. @param {{tables: Record<string, import("../data.js").Table>, before: number, after: number}} props */
function Changed({ tables, before, after }) {
  const { index } = useView();
  const { askings, exams } = tables;
  const one = useRow(index, "answers", before);
  const two = useRow(index, "answers", after);
  const names = /** @type {[string, string]} */ ([told(askings, exams, before), told(askings, exams, after)]);
  if (!one.value || !two.value) return <Loading error={one.error || two.error} />;
  const a = /** @type {Answer} */ ({ ...record(askings, before), ...one.value });
  const b = /** @type {Answer} */ ({ ...record(askings, after), ...two.value });
  const texts = [a, b].map(whole);
  return <Changes a={a} b={b} texts={texts} names={names} />;
}

/** @param {{a: Answer, b: Answer, texts: string[], names: [string, string], across?: boolean}} props */
export function Changes({ a, b, texts, names, across }) {
  const ids = (/** @type {Answer} */ answer) => new Set(answer.bundle.map((entry) => entry[1]));
  const [had, has] = [ids(a), ids(b)];
  const come = b.bundle.filter((entry) => !had.has(entry[1]));
  const gone = a.bundle.filter((entry) => !has.has(entry[1]));
  const lines = /** @type {[string, any, any][]} */ ([
    ["verdict", a.verdict, b.verdict], ["answer", a.answer, b.answer], ["route", a.routing_arm, b.routing_arm], ["search", a.search_arm, b.search_arm],
    ["template", a.template, b.template], ["task type", a.task_type, b.task_type], ["skill", a.skill, b.skill], ["tool", a.tool, b.tool],
    ["model", calls(a)[0]?.model, calls(b)[0]?.model],
  ]).filter(([, was, is]) => (was ?? "") !== (is ?? ""));
  const verdict = a.verdict === b.verdict ? `${words(b.verdict)} both times` : `${words(a.verdict)} → ${words(b.verdict)}`;
  return (
    <Section title={`What changed: ${verdict}`} note={`${names[0]}, then ${names[1]}`} id="changed">
      <table class="plain changes">
        <tbody>
          {lines.map(([name, was, is]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{name === "verdict" ? <Verdict of={was} /> : <bdi>{was || "none"}</bdi>}</td>
              <td class="arrow" aria-label="then">→</td>
              <td>{name === "verdict" ? <Verdict of={is} /> : <bdi>{is || "none"}</bdi>}</td>
            </tr>
          ))}
          {(come.length > 0 || gone.length > 0) && (
            <tr>
              <th scope="row">memories</th>
              <td colSpan={3}>
                {gone.map((entry) => <span key={entry[1]} class="minus pill"><span aria-label="no longer shown">−</span> <Memory entry={entry} plain={across} /></span>)}
                {come.map((entry) => <span key={entry[1]} class="plus pill"><span aria-label="newly shown">+</span> <Memory entry={entry} plain={across} /></span>)}
              </td>
            </tr>
          )}
        </tbody>
      </table>
      {!lines.length && !come.length && !gone.length && (
        <p class="muted">{texts[0] === texts[1] ? "Nothing: the same prompt, the same model, the same answer." : "The same arms and memories; the prompt's text differs."}</p>
      )}
      {texts[0] !== texts[1] ? <details><summary>The prompts, line by line</summary><Difference before={texts[0]} after={texts[1]} names={names} /></details> : lines.length > 0 && <p class="muted">The prompt is the same, letter by letter.</p>}
    </Section>
  );
}

/** @param {{entry: Shown, plain?: boolean}} props */
const Memory = ({ entry: [row, id, similarity], plain }) => (
  <Fragment>
    {row === null || plain ? <code>{short(id)}</code> : <A to={{ page: "memories", id }}><code>{short(id)}</code></A>}
    {similarity !== null && similarity !== undefined && <span class="muted num"> {decimal(similarity, 3)}</span>}
  </Fragment>
);

/** Which key of a bandit an asking was about. @param {import("../data.js").Table | undefined} bandits @param {string} bandit @param {Row} asking */
const keyOf = (bandits, bandit, asking) => [asking.skill, asking.task_type].find((key) => bandits?.col.key?.some((one, n) => one === key && bandits.col.bandit[n] === bandit)) ?? "";

/** One time it was asked. @param {{tables: Record<string, import("../data.js").Table>, n: number}} props */
function Asked({ tables, n }) {
  const { index } = useView();
  const { askings, exams } = tables;
  const { value, error } = useRow(index, "answers", n);
  const { value: more } = useTables(index, "bandits");
  const asking = record(askings, n);
  if (!value) return <Loading error={error} />;
  const answer = /** @type {Answer} */ (value);
  const exam = asking.exam === null ? null : record(exams, asking.exam);
  return (
    <Fragment>
      <div class="columns">
        <Section title={told(askings, exams, n)}>
          <Facts
            rows={[
              ["verdict", <Verdict of={asking.verdict} />],
              ["answer", <bdi class="answer">{answer.answer ?? "none"}</bdi>],
              ["expected", <bdi class="answer">{answer.expected ?? "not in the log"}</bdi>],
              ...(answer.judge || answer.reason ? [["judged by", <span><bdi>{answer.judge || "the benchmark's rule"}</bdi>{answer.reason && <Fragment>: <bdi>{answer.reason}</bdi></Fragment>}</span>]] : []),
              ...(answer.undecided ? [["undecided", <bdi>{String(answer.undecided)}</bdi>]] : []),
              ["score", micro(asking.score_micro)],
              ["task type, skill", <bdi>{[asking.task_type, asking.skill].filter(Boolean).join(", ") || "–"}</bdi>],
              ["template", <bdi>{asking.template || "–"}</bdi>],
              ...(asking.carried ? [["carried", "not asked again, since it would have seen the same: the earlier verdict holds"]] : []),
              ...(answer.tool ? [["tool", <A to={{ page: "memories", id: answer.tool }}><code>{short(answer.tool)}</code></A>]] : []),
              ...(answer.coin ? [["coin", `left out with probability ${decimal(answer.coin)}`]] : []),
              ...["guiding_skill", "donor"].filter((name) => answer[name]).map((name) => [words(name), <bdi>{answer[name]}</bdi>]),
              ...(answer.planning?.length ? [["planned over", <bdi>{answer.planning.join(", ")}</bdi>]] : []),
              ...(answer.chain?.length ? [["chain of skills", <bdi>{answer.chain.join(" → ")}</bdi>]] : []),
              exam ? ["exam", <span>{exam.exam}, of the state at {exam.marker}; its own log, event {count(asking.seq)}</span>] : ["events", <span>planned at <Seq seq={asking.from} />, judged at <Seq seq={asking.judged} /></span>],
            ]}
          />
        </Section>
        <Section title="Arms" note="What each bandit chose, and how probable that choice was.">
          {answer.arms?.length ? (
            <table class="plain">
              <thead><tr><th scope="col">bandit</th><th scope="col">arm</th><th scope="col" class="num">probability</th></tr></thead>
              <tbody>
                {answer.arms.map((/** @type {[string, string, number]} */ [bandit, arm, probability]) => (
                  <tr key={bandit}><td><A to={{ page: "bandits", query: { bandit, key: keyOf(more?.bandits, bandit, asking) } }}>{words(bandit)}</A></td><td>{words(arm)}</td><td class="num"><Bar share={probability} text={decimal(probability, 3)} /></td></tr>
                ))}
              </tbody>
            </table>
          ) : (
            <p class="muted">No bandit chose here.</p>
          )}
        </Section>
      </div>
      <Bundle answer={answer} />
      {answer.question_text && <details><summary>The question{answer.context ? " and its context" : ""}</summary><Text text={answer.question_text} />{answer.context && <Text text={answer.context} />}</details>}
      {answer.problem && <p class="problem">{answer.problem}</p>}
      <Moves answer={answer} exam={exam !== null} />
      {asking.seq > 0 && <Command text={`mage-es show ${tables.questions.col.id[asking.question]} ${index.run}`} />}
    </Fragment>
  );
}

/** @param {{answer: Answer}} props */
function Bundle({ answer }) {
  const { value } = useTables(useView().index, "memories"); // its titles come when they are there
  const { bundle, left_out: left } = answer;
  if (!bundle.length && !left.length) return <Section title="Memories shown"><p class="muted">None: the prompt had no notes.</p></Section>;
  const line = (/** @type {Shown} */ entry, /** @type {number} */ n, /** @type {boolean} */ out) => (
    <tr key={entry[1] + n} class={out ? "muted" : ""}>
      <td class="narrow">{out ? "left out" : <span class={`tag span${n % 6}`}>{n + 1}</span>}</td>
      <td><Memory entry={[entry[0], entry[1], null, entry[3]]} /></td>
      <td>{words(entry[3])}</td>
      <td class="grow"><bdi>{entry[0] === null ? "" : value?.memories.col.title[entry[0]]}</bdi></td>
      <td class="num">{entry[2] === null ? "–" : <Bar share={entry[2]} text={decimal(entry[2], 3)} />}</td>
    </tr>
  );
  return (
    <Section title="Memories shown">
      <Scroll label="Memories shown">
        <table>
          <thead><tr><th scope="col" class="narrow">in the prompt</th><th scope="col">memory</th><th scope="col">what</th><th scope="col" class="grow">title</th><th scope="col" class="num">similarity</th></tr></thead>
          <tbody>{bundle.map((entry, /** @type {number} */ n) => line(entry, n, false))}{left.map((entry, /** @type {number} */ n) => line(entry, n, true))}</tbody>
        </table>
      </Scroll>
    </Section>
  );
}

/** @param {{text: string, sha256: string}} props */
function Hash({ text, sha256 }) {
  const [state, set] = useState("");
  useEffect(() => {
    let wanted = true;
    if (!crypto.subtle) set("unchecked");
    else
      crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)).then((bytes) => {
        const hex = [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
        if (wanted) set(hex === sha256 ? "same" : "differs");
      });
    return () => void (wanted = false);
  }, [text, sha256]);
  const says = /** @type {Record<string, [string, string, string]>} */ ({
    same: ["●", "good", "checked in this page: the prompt below, its sampling and seed have the hash that the log recorded"],
    differs: ["✕", "bad", "the prompt below does not have the hash that the log recorded"],
    unchecked: ["·", "quiet", "not checked: browsers compute no hash on plain HTTP from another machine"],
    "": ["…", "quiet", "checking"],
  })[state];
  return <span class="hash"><span class={`sign ${says[1]}`} aria-hidden="true">{says[0]}</span> SHA-256 <code title={sha256}>{sha256.slice(0, 16)}</code> {says[2]}</span>;
}

/** Calls, tools, searches and steps in order; of many only those that are opened. @param {{answer: Answer, exam: boolean}} props */
function Moves({ answer, exam }) {
  const moves = answer.calls;
  const [open, setOpen] = useState(/** @type {Set<number>} */ (new Set()));
  const one = (/** @type {Move} */ move, /** @type {number} */ k) => (move.kind === "call" ? <Call n={k} call={move} answer={answer} exam={exam} /> : <Other call={move} />);
  if (moves.length <= 3) return <Fragment>{moves.map(one)}</Fragment>;
  const toggle = (/** @type {number} */ k, /** @type {boolean} */ on) => setOpen((old) => new Set(on ? [...old, k] : [...old].filter((other) => other !== k)));
  return (
    <Section title="Move by move" tools={<span class="muted">{number(moves.length, "move")}</span>}>
      <ol class="moves">
        {moves.map((move, k) => (
          <li key={k}>
            <details onToggle={(e) => toggle(k, e.currentTarget.open)}>
              <summary><span class="num">{k + 1}</span> <strong>{words(move.kind)}</strong> <bdi>{gist(move)}</bdi></summary>
              {open.has(k) && one(move, k)}
            </details>
          </li>
        ))}
      </ol>
    </Section>
  );
}

/** @param {Row} move */
const gist = (move) => String(move.kind === "call" ? move.reply : move.kind === "step" ? `${move.action}: ${move.observation}` : (move.problem || move.result || move.query || "")).replace(/\s+/g, " ").slice(0, 160);

/** One call: its prompt with what it quotes, and the reply. @param {{n: number, call: Move, answer: Answer, exam: boolean}} props */
function Call({ n, call, answer, exam }) {
  const places = new Map(answer.bundle.map((entry, /** @type {number} */ k) => [entry[1], k]));
  return (
    <Section title={`${n + 1}. ${call.agent || "Prompt"}, ${call.tier} tier`} note={[call.model, `${count(call.input_tokens)} tokens in, ${count(call.output_tokens)} out`, call.latency_us ? seconds(call.latency_us) : "", call.stop_reason && call.stop_reason !== "end" ? `stopped: ${call.stop_reason}` : ""].filter(Boolean).join(" · ")} tools={exam ? null : <span class="muted">event <Seq seq={call.seq} /></span>}>
      {call.request_sha256 && <p><Hash text={`${call.system}\0${prompt(answer, call)}\0${call.rest}`} sha256={call.request_sha256} /></p>}
      <div class="call">
        <div>
          {call.system && <Fragment><h3>System</h3><Text text={call.system} /></Fragment>}
          <h3>Prompt</h3>
          <pre class="text" dir="auto">
            {call.prompt.map((piece, /** @type {number} */ k) => {
              if (typeof piece === "string") return visible(piece);
              const source = piece.source ?? "";
              const id = source.replace(/^[a-z_]+\//, "");
              const place = places.get(id);
              const colour = place === undefined ? "other" : `span${place % 6}`;
              return (
                <mark key={k} class={colour} title={source}>
                  {place !== undefined ? <A to={{ page: "memories", id }} class={`tag ${colour}`} label={`memory ${place + 1}, ${short(id)}`}>{place + 1}</A> : source && <span class="tag other">{source.replace(id, short(id))}</span>}
                  {visible(answer.texts[piece.t])}
                </mark>
              );
            })}
          </pre>
        </div>
        <div>
          <h3>Reply</h3>
          <Text text={call.reply || "(empty)"} />
        </div>
      </div>
    </Section>
  );
}

/** What was no call: a tool's run, a search, a trimmed prompt. @param {{call: Row}} props */
const Other = ({ call }) => (
  <Section title={words(call.kind)}>
    <Facts rows={Object.entries(call).filter(([name, fact]) => name !== "kind" && fact !== null && fact !== "").map(([name, fact]) => [words(name), typeof fact === "number" ? (name === "seq" ? <Seq seq={fact} /> : String(fact)) : <Text text={typeof fact === "string" ? fact : JSON.stringify(fact, null, 1)} />])} />
  </Section>
);

export { told };
