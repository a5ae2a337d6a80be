/** The shell: which run, which page, which moment. */
import "./visible";
import { render, type ComponentType } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import * as address from "./address";
import { questionOf } from "./asked";
import * as data from "./data";
import type { Index, Row, Tables } from "./data";
import { A, bdi, muted, toned } from "./marks";
import { Command, Empty, Loading, centre, options } from "./parts";
import { facts, list } from "./tables";
import { Bandits } from "./pages/bandits";
import { Compare } from "./pages/compare";
import { Cost } from "./pages/cost";
import { EventPage, Events } from "./pages/events";
import { Graph } from "./pages/graph";
import { Guard } from "./pages/guard";
import { Memories, MemoryPage } from "./pages/memories";
import { Overview } from "./pages/overview";
import { QuestionPage, answersOf, shownOf } from "./pages/question";
import { Questions } from "./pages/questions";
import { Runs } from "./pages/runs";
import { Inference, Traffic } from "./pages/traffic";
import { Scrubber, compare } from "./scrubber";
import { Share, Who, admit } from "./share";
import { Explanation, learn } from "./terms";
import { step } from "./time";
import { Viewed, pressed, useLoad, useTables, useView, type View } from "./view";
import { capital, number } from "./words";

interface Page {
  list: ComponentType<{ t: Tables }>;
  tables: string[];
  /** The page of one thing, and its tables. */
  one?: [ComponentType<{ id: string; t: Tables }>, ...string[]];
}

const LEARNED = ["memories", "memory_states", "curations", "questions", "askings"];
const SERVED = ["inferences", "feedback", "memories"];
const PAGES: Record<string, Page> = {
  overview: { list: Overview, tables: ["overview", "exams", "scores"] },
  questions: { list: Questions, tables: ["questions", "askings"], one: [QuestionPage] },
  memories: { list: Memories, tables: [...LEARNED.slice(0, 2), "questions"], one: [MemoryPage, ...LEARNED] },
  graph: { list: Graph, tables: ["nodes", "edges", "mastery", "memories"] },
  bandits: { list: Bandits, tables: ["bandits"] },
  guard: { list: Guard, tables: ["guard", "questions"] },
  cost: { list: Cost, tables: ["cost", "exam_cost"] },
  events: { list: Events, tables: [], one: [EventPage] },
  compare: { list: Compare, tables: [] },
  traffic: { list: Traffic, tables: SERVED, one: [Inference, ...SERVED] },
};
/** What is said where a run has no row of a page's first table. */
const WITHOUT: Record<string, [title: string, how: string]> = {
  overview: ["This run has no events yet", "Begin it, then open this page again."],
  questions: ["No question was asked in this run", "Questions appear once an iteration has begun."],
  memories: ["Nothing was learned in this run", "Memories come with the first closed iteration; a baseline has none."],
  nodes: ["There is no graph in this run", "Its first nodes come at the start of a run; a baseline has none."],
  bandits: ["No bandit chose anything in this run", "With --bandits, arms are pulled once there are memories."],
  guard: ["The guard gave no verdict in this run", "It judges each iteration that closes, where anchors are set."],
  cost: ["No call was made in this run", "Calls are recorded as they return."],
  events: ["This copy has no events", "mage-es view RUN --to FOLDER makes one that has them."],
};

function App() {
  const [hash, setHash] = useState(location.hash);
  const here = useMemo(() => address.read(hash), [hash]);
  // The list is asked for anew whenever it is looked at: runs come and go.
  const { value, error } = useLoad(async () => {
    const [{ runs, key }, { words }] = await Promise.all([data.anew("runs"), data.chunk("words")]);
    learn(words);
    admit(key);
    return runs as Row[];
  }, [here.run === ""]);
  const last = useRef<Row[] | null>(null);
  const runs = (last.current = value ?? last.current);
  useEffect(() => {
    const heard = () => setHash(location.hash);
    for (const event of ["hashchange", "popstate"]) addEventListener(event, heard);
  }, []);
  if (!runs) return <main class="alone" children={<Loading error={error} />} />;
  if (!here.run && runs.length > 1) return <Listed here={here} runs={runs} />;
  const run = here.run || (runs[0]?.run ?? "");
  if (runs.some((one) => one.run === run)) return <Run key={run} here={{ ...here, run }} runs={runs} />;
  const link = (one: Row) => <a href={`#/${encodeURIComponent(one.run)}`} children={one.run} />;
  const others = <Empty title={`Run ${run} is not among these`} children={list("turned", runs, link)} />;
  const none = <Empty title="There is no run here" children="Make one, then come back: mage-es demo" />;
  return <main class="alone" children={runs.length ? others : none} />;
}

/** All runs, none of them opened. */
function Listed({ here, runs }: { here: address.Address; runs: Row[] }) {
  useEffect(() => void (document.title = "Runs · mage-es view"), []);
  const link = (change: address.Change) => address.write(address.changed(here, change));
  const go: View["go"] = (change, replace) => address.go(address.changed(here, change), replace);
  const nothing = { index: null, seq: 0, other: null, second: null } as unknown as View; // a table asks for none of it
  return (
    <Viewed.Provider value={{ ...nothing, runs, address: here, link, go }}>
      <header class="top">
        <span class="brand">mage-es {muted("view")}</span>
        <span class="space" />
        <Who />
        <Refresh />
        <Shade />
      </header>
      <main id="main" class="listed" children={<Runs />} />
      <Explanation />
    </Viewed.Provider>
  );
}

function Run({ here, runs }: { here: address.Address; runs: Row[] }) {
  const beside = runs.some((one) => one.run === here.query.with) ? here.query.with : "";
  const [share, tell] = useState(0);
  const load = async () => Promise.all([here.run, beside].map((run) => (run ? data.indexOf(run, tell) : null)));
  const { value, error } = useLoad(load, [here.run, beside]);
  if (!value?.[0]) return <main class="alone" children={<Loading error={error} share={share} />} />;
  return <Shell here={here} runs={runs} index={value[0]} beside={value[1]} />;
}

function Shell(props: { here: address.Address; runs: Row[]; index: Index; beside: Index | null }) {
  const { here, runs, index, beside } = props;
  const main = useRef<HTMLElement>(null);
  const [help, setHelp] = useState(false);
  const seq = address.moment(index, here.query.at) ?? index.last;
  const with_ = beside ?? index;
  const vs = here.query.vs || beside ? (address.moment(with_, here.query.vs) ?? with_.last) : null;
  const other = vs === null ? null : { index: with_, seq: vs };
  const link = (change: address.Change) => address.write(address.changed(here, change));
  const go: View["go"] = (change, replace) => {
    const now = address.read(location.hash);
    address.go(address.changed(now.run ? now : here, change), replace);
  };
  const view: View = { index, seq, other, second: beside ? null : vs, runs, address: here, link, go };
  const names = Object.keys(PAGES).filter((name) => name !== "traffic" || index.counts.inferences);
  const name = names.includes(here.page) ? here.page : "overview";

  const first = useRef(true);
  useEffect(() => {
    centre(document.querySelector("nav"));
    document.title = `${capital(name)}${here.id ? ` ${here.id}` : ""} · ${index.run} · mage-es view`;
    if (!first.current) {
      main.current?.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    first.current = false;
  }, [name, here.id]);
  useEffect(() => {
    const heard = (event: KeyboardEvent) => {
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test((event.target as HTMLElement).tagName);
      if (typing || event.ctrlKey || event.metaKey || event.altKey || here.query.keys === "off") return;
      const now = address.moment(index, address.read(location.hash).query.at) ?? index.last;
      const to = (way: 1 | -1, whole = false) =>
        go({ query: { at: address.named(index, step(index, now, way, whole)) } }, true);
      const digits = names.map((one, n) => [(n + 1) % 10, () => go({ page: one, id: "" })]);
      pressed(event, {
        ...Object.fromEntries(digits),
        "[": () => to(-1),
        "]": () => to(1),
        "{": () => to(-1, true),
        "}": () => to(1, true),
        c: () => compare(view),
        "?": () => setHelp(!help),
        "/": () => document.querySelector<HTMLElement>("[data-search]")?.focus(),
        Escape: help && (() => setHelp(false)),
      });
    };
    addEventListener("keydown", heard);
    return () => removeEventListener("keydown", heard);
  });

  const skip = (e: Event) => (e.preventDefault(), main.current?.focus());
  return (
    <Viewed.Provider value={view}>
      <a class="skip" href="#main" onClick={skip} children="To the page" />
      <Top name={name} help={help} setHelp={setHelp} />
      <nav aria-label="Pages">
        {names.map((one) => (
          <A key={one} to={{ page: one, id: "" }} aria-current={one === name ? "page" : undefined}>
            {capital(one)}
          </A>
        ))}
      </nav>
      <main id="main" tabIndex={-1} ref={main}>
        {help && <Keys close={() => setHelp(false)} />}
        <Problems name={name} beside={with_} />
        {index.state !== "damaged" || index.last > 0 ? <Shown key={name} name={name} /> : null}
      </main>
      {index.last > 0 && <Scrubber />}
      <Explanation />
    </Viewed.Provider>
  );
}

/** What a link to all runs leaves behind. */
const EVERY = { at: "", vs: "", with: "" };

/** A server reads what it shows again; a file stays as it is. */
const Refresh = () =>
  location.protocol === "file:" ? null : (
    <button onClick={() => location.reload()} title="Reads again what is shown" children="Refresh" />
  );

/** Dark or light, for as long as this page is open: nothing is stored. */
function Shade() {
  const chosen = document.documentElement.dataset.theme;
  const [dark, setDark] = useState(chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const turn = () => {
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    setDark(!dark);
    dispatchEvent(new Event("theme"));
  };
  return <button onClick={turn} children={dark ? "Light" : "Dark"} />;
}

/** The line above every page. */
function Top({ name, help, setHelp }: { name: string; help: boolean; setHelp: (on: boolean) => void }) {
  const { index, runs, link } = useView();
  const show = (run: string) => address.go({ run, page: name, id: "", query: {} });
  const about = [index.benchmark, number(index.last, "event"), index.kind === "served" ? "served" : index.state];
  const others = runs.map((one): string => one.run);
  return (
    <header class="top">
      <span class="brand">mage-es {muted("view")}</span>
      {others.length > 1 && <a class="every" href={link({ run: "", query: EVERY })} children="All runs" />}
      {others.length > 1 ? options({ "aria-label": "Run" }, index.run, others, show) : toned("run", index.run)}
      <span class="muted about">{about.filter(Boolean).join(", ")}</span>
      <span class="space" />
      <Who />
      <Share />
      {index.state === "unfinished" && <Refresh />}
      <Shade />
      <button class="square" aria-label="Keyboard" aria-expanded={help} onClick={() => setHelp(!help)} children="?" />
    </header>
  );
}

/** What is wrong with the log, or was asked for in vain. */
function Problems({ name, beside }: { name: string; beside: Index }) {
  const { index, address: here } = useView();
  const { at, vs } = here.query;
  const problem = index.state !== "empty" && index.problem;
  const unknown = [address.moment(index, at) === null ? at : "", address.moment(beside, vs) === null ? vs : ""];
  const says = [
    problem && [
      <strong>{index.state === "damaged" ? "This log is damaged. " : "About this log. "}</strong>,
      bdi(problem),
      index.state === "damaged" && <Command text={`mage-es verify ${index.named} --repair`} />,
    ],
    here.page !== name && here.page && `This run has no page “${here.page}”; its overview is shown.`,
    ...unknown.map((one) => one && `The address asks for “${one}”, which this run does not have; the latest is shown.`),
  ];
  return <>{says.map((text, n) => text && <div key={n} class="problem" role="alert" children={text} />)}</>;
}

/** A page once its tables are here. */
function Shown({ name }: { name: string }) {
  const { index, address: here } = useView();
  const page = PAGES[name];
  const [One, ...tables] = (here.id && page.one) || [null, ...page.tables];
  const { value, error } = useTables(index, ...tables);
  const needed = index.last ? (page.tables[0] ?? name) : "overview";
  if (WITHOUT[needed] && !index.chunks[needed]) {
    const [title, how] = WITHOUT[needed];
    const goes = index.kind !== "served" && ["empty", "unfinished"].includes(index.state);
    const more = goes && <Command text={`mage-es resume ${index.named}`} />;
    return <Empty title={title} children={[how, more]} />;
  }
  if (!value) return <Loading error={error} />;
  return One ? <One id={here.id} t={value} /> : <page.list t={value} />;
}

const KEYS = [
  ["1 … 9", "a page"],
  ["[  ]", "previous, next moment"],
  ["{  }", "previous, next iteration"],
  ["c", "compare two moments"],
  ["/", "search"],
  ["?", "these keys"],
  ["← →", "on a handle: moments; with Shift: single events"],
  ["Home End", "on a handle: start, latest"],
];

function Keys({ close }: { close: () => void }) {
  const { address: here, go } = useView();
  const off = here.query.keys === "off";
  return (
    <section class="keys" aria-label="Keyboard">
      {facts(KEYS.map(([key, what]) => [<kbd>{key}</kbd>, what]))}
      <label>
        <input type="checkbox" checked={!off} onChange={() => go({ query: { keys: off ? "" : "off" } }, true)} />{" "}
        Keyboard shortcuts on
      </label>
      <button onClick={close} children="Close" />
    </section>
  );
}

// What the address asks for is on its way before anything is drawn. A run is a folder beside ours, and no path.
const { run, page, id, query } = address.read(location.hash);
const ahead = async (index: Index) => {
  const found = index.run && page === "questions" && id ? await questionOf(index, id) : null;
  const { now } = shownOf(found?.askings ?? [], index.last, query.ask);
  return now && !query.at && answersOf(index, [now]);
};
if (/^[^./][^/]*$/.test(run)) data.chunk(`${run}/index`).then(ahead).catch(Boolean); // told when it is shown
addEventListener("DOMContentLoaded", () => render(<App />, document.getElementById("app") as HTMLElement));
