/** The log itself: every event, what caused it and what it caused. */
import { Fragment, h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { row } from "../data.js";
import { A, Choice, Empty, Facts, Loading, Long, Search, Section, Seq, Text } from "../parts.jsx";
import { useLoad, useRow, useView } from "../view.js";
import { count, number, short, time, when, words } from "../words.js";

export function Events() {
  const { index, address } = useView();
  if (!index.chunks.events?.length) return <Empty title="The events are not in this copy">Make one with them: <code>mage-es view {index.run} --to FOLDER</code></Empty>;
  if (address.id) return <One seq={Number(address.id)} />;
  return <List />;
}

/** Headers, read as they come in sight. @param {import("../data.js").Index} index */
function useHeaders(index) {
  const [, again] = useState(0);
  const had = useRef(/** @type {Map<number, Record<string, any> | null>} */ (new Map()));
  return (/** @type {number} */ n) => {
    const found = had.current.get(n);
    if (found === undefined) {
      had.current.set(n, null);
      row(index, "events", n).then((got) => {
        had.current.set(n, got);
        again((old) => old + 1);
      }, () => had.current.delete(n));
    }
    return found ?? null;
  };
}

const PAGES = /** @type {Record<string, string>} */ ({ question: "questions", memory: "memories", tool: "memories", recipe: "memories", skill: "graph", task_type: "graph" });

/** What an event is about, on its own page where there is one. @param {{subject: string}} props */
function About({ subject }) {
  const [kind, ...id] = subject.split("/");
  const page = PAGES[kind];
  if (!page) return <bdi>{short(subject)}</bdi>;
  return <A to={{ page, id: page === "graph" ? subject : id.join("/") }}><bdi>{kind}/{short(id.join("/"))}</bdi></A>;
}

/** @param {Record<string, any>} e */
const during = (e) => (e.iteration < 0 && !e.phase ? "–" : when(e.iteration, e.phase));

const STRIDE = 200;

function List() {
  const { index, seq, address } = useView();
  const { type = "", q = "" } = address.query;
  const headers = useHeaders(index);
  const [found, setFound] = useState(/** @type {{key: string, rows: number[], next: number, busy: boolean}} */ ({ key: "", rows: [], next: -1, busy: false }));
  const key = `${type}\n${q}\n${seq}`;
  const filtered = Boolean(type || q);
  useEffect(() => {
    if (!filtered) return;
    let wanted = true;
    scan(index, seq - 1, type, q, STRIDE, () => wanted).then((got) => wanted && setFound({ key, busy: false, ...got }));
    return () => void (wanted = false);
  }, [key]);
  const further = () => {
    setFound({ ...found, busy: true });
    scan(index, found.next, type, q, STRIDE, () => true).then((got) => setFound({ key, busy: false, next: got.next, rows: [...found.rows, ...got.rows] }));
  };
  const rows = filtered ? (found.key === key ? found.rows : []) : Array.from({ length: seq }, (_, k) => seq - 1 - k);
  const cell = (/** @type {(e: Record<string, any>) => any} */ show) => (/** @type {number} */ n) => {
    const header = headers(n);
    return header ? show(header) : <span class="muted">…</span>;
  };
  return (
    <Section title="Events" note="Newest first, up to the moment shown." tools={<span class="muted">{number(filtered ? rows.length : seq, "event")}</span>}>
      <div class="filters">
        <Search label="About" value={q} placeholder="a question, a memory, any subject" />
        <Choice name="type" label="Type" value={type} choices={[["", "all"], ...[...index.types].sort().map((one) => /** @type {[string, string]} */ ([one, one]))]} />
      </div>
      {rows.length ? (
        <Long
          label="Events"
          rows={rows}
          columns={[
            { name: "seq", class: "num", cell: (n) => <Seq seq={n + 1} /> },
            { name: "type", cell: cell((e) => <A to={{ query: { type: index.types[e.type] } }}>{index.types[e.type]}</A>) },
            { name: "subject", class: "grow", cell: cell((e) => (e.subject ? <About subject={e.subject} /> : "–")) },
            { name: "when", cell: cell(during) },
            { name: "cause", class: "num", cell: cell((e) => <Seq seq={e.causation} />) },
            { name: "caused", class: "num", cell: cell((e) => (e.caused?.length ? count(e.caused.length) : "–")) },
            { name: "time", title: "time, UTC", class: "num", cell: cell((e) => time(e.ts_us)) },
          ]}
        />
      ) : (
        <Empty title={filtered && found.key !== key ? "Reading …" : filtered ? "No event fits these filters so far" : "No event up to this moment"}>{filtered && <A to={{ query: { type: "", q: "" } }}>Show all events</A>}</Empty>
      )}
      {filtered && found.key === key && found.next >= 0 && <button type="button" onClick={further} disabled={found.busy}>{found.busy ? "Reading …" : `Look further back, before event ${count(found.next + 2)}`}</button>}
    </Section>
  );
}

/**
 * Reads back from a row until enough events fit.
 * @param {import("../data.js").Index} index @param {number} from @param {string} type @param {string} q @param {number} enough @param {() => boolean} wanted
 */
async function scan(index, from, type, q, enough, wanted) {
  const rows = [];
  const needle = q.toLowerCase();
  let n = from;
  for (; n >= 0 && rows.length < enough && wanted(); n--) {
    const header = await row(index, "events", n);
    if (header && (!type || index.types[header.type] === type) && (!needle || String(header.subject ?? "").toLowerCase().includes(needle))) rows.push(n);
  }
  return { rows, next: n };
}

/** @param {{seq: number}} props */
function One({ seq }) {
  const { index, seq: moment } = useView();
  const header = useRow(index, "events", seq - 1);
  const payload = useRow(index, "payloads", seq - 1);
  const causes = useLoad(async () => {
    /** @type {Record<string, any>[]} */
    const chain = [];
    for (let at = (await row(index, "events", seq - 1))?.causation; at && chain.length < 12; ) {
      const e = await row(index, "events", at - 1);
      if (!e) break;
      chain.push({ seq: at, ...e });
      at = e.causation;
    }
    return chain.reverse();
  }, [index.run, seq]);
  if (!(seq >= 1 && seq <= index.last)) return <Empty title={`This run has no event ${seq}`}><A to={{ page: "events", id: "" }}>All events</A></Empty>;
  if (!header.value) return <Loading error={header.error} />;
  const e = header.value;
  return (
    <Fragment>
      <header class="title">
        <p class="crumbs"><A to={{ page: "events", id: "" }}>Events</A> / {count(seq)}</p>
        <h1>{index.types[e.type]}</h1>
        <p class="row">
          {seq > 1 && <A to={{ page: "events", id: String(seq - 1) }}>‹ event {count(seq - 1)}</A>}
          {seq < index.last && <A to={{ page: "events", id: String(seq + 1) }}>event {count(seq + 1)} ›</A>}
          {seq !== moment && <A to={{ page: "events", id: String(seq), query: { at: `seq:${seq}` } }}>Show every page as it was then</A>}
        </p>
      </header>
      <div class="columns">
        <Section title="Header">
          <Facts rows={[
            ["about", e.subject ? <About subject={e.subject} /> : "–"], ["when", during(e)], ["time", `${time(e.ts_us)} UTC`],
            ["correlation", <bdi>{e.correlation || "–"}</bdi>], ["ordinal", count(e.ordinal)], ["commit, up to", <Seq seq={e.commit} />],
          ]} />
        </Section>
        <Section title="Cause and effect">
          <ol class="chain">
            {(causes.value ?? []).map((one) => <li key={one.seq}><Seq seq={one.seq} /> {index.types[one.type]} <span class="muted"><bdi>{short(one.subject ?? "")}</bdi></span></li>)}
            <li class="here"><strong class="num">{count(seq)}</strong> {index.types[e.type]}</li>
          </ol>
          {e.caused?.length ? <Caused list={e.caused} /> : <p class="muted">It caused no other event.</p>}
        </Section>
      </div>
      <Section title="Payload">
        {payload.value ? <Payload payload={payload.value.payload} /> : <Loading error={payload.error} />}
      </Section>
    </Fragment>
  );
}

/** @param {{list: number[]}} props */
function Caused({ list }) {
  const { index } = useView();
  const some = useLoad(() => Promise.all(list.slice(0, 30).map(async (seq) => /** @type {Record<string, any>} */ ({ seq, ...(await row(index, "events", seq - 1)) }))), [index.run, ...list.slice(0, 30)]);
  return (
    <Fragment>
      <h3>It caused {number(list.length, "event")}</h3>
      <ul class="seqlist">{(some.value ?? []).map((one) => <li key={one.seq}><Seq seq={one.seq} /> {index.types[one.type]}</li>)}</ul>
      {list.length > 30 && <p class="muted">and {count(list.length - 30)} more</p>}
    </Fragment>
  );
}

/** @param {{payload: Record<string, any> | null}} props */
function Payload({ payload }) {
  const fields = Object.entries(payload ?? {});
  if (!fields.length) return <p class="muted">It has no fields.</p>;
  return (
    <Facts
      class="payload"
      rows={fields.map(([name, fact]) => [
        words(name),
        typeof fact === "string" ? (fact.length > 100 || fact.includes("\n") ? <Text text={fact} /> : fact ? <bdi>{fact}</bdi> : <span class="muted">empty</span>) : fact === null ? <span class="muted">none</span> : typeof fact === "object" ? <Text text={JSON.stringify(fact, null, 2)} /> : <span class="num">{String(fact)}</span>,
      ])}
    />
  );
}
