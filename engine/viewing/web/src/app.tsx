/** The shell: which run, which page, which moment. */
import { h, render } from "preact";
import type { ComponentType } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import * as address from "./address";
import type { Address } from "./address";
import { questionOf } from "./asked";
import * as data from "./data";
import type { Index, Row, Tables } from "./data";
import { muted } from "./marks";
import { Empty, List, Loading } from "./parts";
import { Bandits } from "./pages/bandits";
import { Compare } from "./pages/compare";
import { Cost } from "./pages/cost";
import { Events } from "./pages/events";
import { Graph } from "./pages/graph";
import { Guard } from "./pages/guard";
import { Memories, MemoryPage } from "./pages/memories";
import { Overview } from "./pages/overview";
import { QuestionPage } from "./pages/question";
import { Questions } from "./pages/questions";
import { Traffic } from "./pages/traffic";
import { Scrubber, compare } from "./scrubber";
import { step } from "./time";
import { Viewed, useLoad, useTables, useView } from "./view";
import type { View } from "./view";
import { number } from "./words";

interface Page {
  title: string;
  list: ComponentType<{ t: Tables }>;
  tables: string[];
  /** What the page of one thing is, where it is another page with other tables. */
  one?: [ComponentType<{ id: string; t: Tables }>, ...string[]];
}

const LEARNED = ["memories", "memory_states", "curations", "questions", "askings", "exams"];
const PAGES: Record<string, Page> = {
  overview: { title: "Overview", list: Overview, tables: ["overview", "exams", "scores"] },
  questions: { title: "Questions", list: Questions, tables: ["questions", "askings", "exams"], one: [QuestionPage] },
  memories: { title: "Memories", list: Memories, tables: LEARNED.slice(0, 2), one: [MemoryPage, ...LEARNED] },
  graph: { title: "Graph", list: Graph, tables: ["nodes", "edges", "mastery", "memories"] },
  bandits: { title: "Bandits", list: Bandits, tables: ["bandits"] },
  guard: { title: "Guard", list: Guard, tables: ["guard", "questions"] },
  cost: { title: "Cost", list: Cost, tables: ["cost", "exam_cost", "exams"] },
  events: { title: "Events", list: Events, tables: [] },
  compare: { title: "Compare", list: Compare, tables: [] },
  traffic: { title: "Traffic", list: Traffic, tables: ["inferences", "feedback", "memories"] },
};

function App() {
  const [hash, setHash] = useState(location.hash);
  const { value: runs, error } = useLoad(async () => (await data.chunk("runs")).runs as Row[], []);
  useEffect(() => {
    const heard = () => setHash(location.hash);
    for (const event of ["hashchange", "popstate"]) addEventListener(event, heard);
  }, []);
  const here = useMemo(() => address.read(hash), [hash]);
  if (!runs) return <main class="alone" children={<Loading error={error} />} />;
  const run = here.run || (runs[0]?.run ?? "");
  if (runs.some((one) => one.run === run)) return <Run key={run} here={{ ...here, run }} runs={runs} />;
  const to = (id: string) => address.write({ run: id, page: "overview", id: "", query: {} });
  return (
    <main class="alone">
      {runs.length ? (
        <Empty title={`Run ${run} is not among these`}>
          <List
            kind="turned"
            items={runs.map((one) => (
              <a href={to(one.run)} children={one.run} />
            ))}
          />
        </Empty>
      ) : (
        <Empty title="There is no run here" children="Make one, then come back: mage-es demo" />
      )}
    </main>
  );
}

function Run({ here, runs }: { here: Address; runs: Row[] }) {
  const with_ = runs.some((one) => one.run === here.query.with) ? here.query.with : "";
  const [share, tell] = useState(0);
  const load = async () => Promise.all([here.run, with_].map((run) => (run ? data.indexOf(run, tell) : null)));
  const { value, error } = useLoad(load, [here.run, with_]);
  if (!value?.[0]) return <main class="alone" children={<Loading error={error} share={share} />} />;
  return <Shell here={here} runs={runs} index={value[0]} beside={value[1]} />;
}

function Shell(props: { here: Address; runs: Row[]; index: Index; beside: Index | null }) {
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
  const page = PAGES[name];
  const asked: [string, Index][] = [
    [here.query.at, index],
    [here.query.vs, with_],
  ];
  const unknown = asked.filter(([text, of]) => address.moment(of, text) === null);

  useEffect(() => {
    document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
    document.title = `${page.title}${here.id ? ` ${here.id}` : ""} · ${index.run} · mage-es view`;
  }, [name, here.id, index]);
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) {
      main.current?.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    first.current = false;
  }, [name, here.id]);
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test((event.target as HTMLElement).tagName);
      if (typing || event.ctrlKey || event.metaKey || event.altKey || here.query.keys === "off") return;
      const now = address.moment(index, address.read(location.hash).query.at) ?? index.last;
      const to = (way: 1 | -1, whole = false) =>
        go({ query: { at: address.named(index, step(index, now, way, whole)) } }, true);
      const act: Record<string, () => void> = {
        "[": () => to(-1),
        "]": () => to(1),
        "{": () => to(-1, true),
        "}": () => to(1, true),
        c: () => compare(view),
        "?": () => setHelp((on) => !on),
        "/": () => document.querySelector<HTMLElement>("[data-search]")?.focus(),
      };
      if (help) act.Escape = () => setHelp(false);
      names.forEach((one, n) => (act[String((n + 1) % 10)] = () => go({ page: one, id: "" })));
      if (!act[event.key]) return;
      act[event.key]();
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });

  const skip = (e: Event) => (e.preventDefault(), main.current?.focus());
  const state = index.kind === "served" ? "served" : index.state;
  return (
    <Viewed.Provider value={view}>
      <a class="skip" href="#main" onClick={skip} children="To the page" />
      <header class="top">
        <span class="brand">mage-es {muted("view")}</span>
        {runs.length > 1 ? (
          <select
            aria-label="Run"
            value={index.run}
            onChange={(e) => address.go({ run: e.currentTarget.value, page: name, id: "", query: {} })}>
            {runs.map((one) => (
              <option key={one.run} value={one.run} children={one.run} />
            ))}
          </select>
        ) : (
          <strong class="run">{index.run}</strong>
        )}
        <span class="muted about">
          {[index.benchmark, number(index.last, "event"), state].filter(Boolean).join(", ")}
        </span>
        <span class="space" />
        {index.state === "unfinished" && location.protocol !== "file:" && (
          <button type="button" onClick={() => location.reload()} title="Reads the log again" children="Refresh" />
        )}
        <Theme />
        <button
          type="button"
          class="square"
          aria-label="Keyboard"
          aria-expanded={help}
          onClick={() => setHelp(!help)}
          children="?"
        />
      </header>
      <nav aria-label="Pages">
        {names.map((one) => (
          <a key={one} href={link({ page: one, id: "" })} aria-current={one === name ? "page" : undefined}>
            {PAGES[one].title}
          </a>
        ))}
      </nav>
      <main id="main" tabIndex={-1} ref={main}>
        {help && <Keys close={() => setHelp(false)} />}
        {index.problem && index.state !== "empty" && (
          <p class="problem" role="alert">
            <strong>{index.state === "damaged" ? "This log is damaged." : "About this log."}</strong> {index.problem}
          </p>
        )}
        {here.page && name !== here.page && (
          <p class="problem" role="alert" children={`This run has no page “${here.page}”; its overview is shown.`} />
        )}
        {unknown.map(([text]) => (
          <p key={text} class="problem" role="alert">
            The address asks for the moment “{text}”, which this run does not have; the latest is shown.
          </p>
        ))}
        {index.last > 0 && <Shown key={name} page={page} />}
        {index.last === 0 && index.state !== "damaged" && (
          <Empty
            title="This run has no events yet"
            children={`Begin it with mage-es resume ${index.named}, then open this page again.`}
          />
        )}
      </main>
      {index.last > 0 && <Scrubber />}
    </Viewed.Provider>
  );
}

/** A page once its tables are here. */
function Shown({ page }: { page: Page }) {
  const { index, address: here } = useView();
  const [one, ...tables] = (here.id && page.one) || [null, ...page.tables];
  const { value, error } = useTables(index, ...tables);
  if (!value) return <Loading error={error} />;
  return one ? h(one, { id: here.id, t: value }) : h(page.list, { t: value });
}

/** Dark or light, for as long as this page is open: nothing is stored. */
function Theme() {
  const [dark, setDark] = useState(matchMedia("(prefers-color-scheme: dark)").matches);
  const turn = () => {
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    setDark(!dark);
    dispatchEvent(new Event("theme"));
  };
  return <button type="button" onClick={turn} children={dark ? "Light" : "Dark"} />;
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
      <dl>
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt children={<kbd>{key}</kbd>} />
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <label>
        <input type="checkbox" checked={!off} onChange={() => go({ query: { keys: off ? "" : "off" } }, true)} />{" "}
        Keyboard shortcuts on
      </label>
      <button type="button" onClick={close} children="Close" />
    </section>
  );
}

// What the address asks for is on its way before anything is drawn.
const { run, page, id } = address.read(location.hash);
const ahead = async (index: Index) => index.run && page === "questions" && id && questionOf(index, id);
const isName = /^[^./][^/]*$/.test(run); // of a folder beside ours, and no path
if (isName) data.chunk(`${run}/index`).then(ahead).catch(Boolean); // what failed is told when it is shown
const begin = () => render(<App />, document.getElementById("app") as HTMLElement);
if (document.readyState === "loading") addEventListener("DOMContentLoaded", begin);
else begin();
