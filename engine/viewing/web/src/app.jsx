/** The shell: which run, which page, which moment. */
import { Fragment, h, render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import * as address from "./address.js";
import * as data from "./data.js";
import { Empty, Loading } from "./parts.jsx";
import { Bandits } from "./pages/bandits.jsx";
import { Compare } from "./pages/compare.jsx";
import { Cost } from "./pages/cost.jsx";
import { Events } from "./pages/events.jsx";
import { Graph } from "./pages/graph.jsx";
import { Guard } from "./pages/guard.jsx";
import { Memories } from "./pages/memories.jsx";
import { Overview } from "./pages/overview.jsx";
import { Questions } from "./pages/questions.jsx";
import { Traffic } from "./pages/traffic.jsx";
import { Scrubber, compare } from "./scrubber.jsx";
import { step } from "./time.js";
import { Viewed, useLoad } from "./view.js";
import { number } from "./words.js";

/** @type {[string, string, () => import("preact").VNode<any> | null, string?][]} name, title, page, the table without which it is left out */
const PAGES = [
  ["overview", "Overview", Overview],
  ["questions", "Questions", Questions],
  ["memories", "Memories", Memories],
  ["graph", "Graph", Graph],
  ["bandits", "Bandits", Bandits],
  ["guard", "Guard", Guard],
  ["cost", "Cost", Cost],
  ["events", "Events", Events],
  ["compare", "Compare", Compare],
  ["traffic", "Traffic", Traffic, "inferences"],
];

function App() {
  const [hash, setHash] = useState(location.hash);
  const runs = useLoad(() => data.chunk("runs").then((found) => /** @type {data.Summary[]} */ (found.runs)), []);
  useEffect(() => {
    const heard = () => setHash(location.hash);
    for (const kind of ["hashchange", "popstate"]) addEventListener(kind, heard);
    return () => ["hashchange", "popstate"].forEach((kind) => removeEventListener(kind, heard));
  }, []);
  const here = useMemo(() => address.read(hash), [hash]);
  if (!runs.value) return <main class="alone"><Loading error={runs.error} /></main>;
  if (!runs.value.length)
    return <main class="alone"><Empty title="There is no run here">Make one, then come back: <code>mage-es demo</code></Empty></main>;
  const run = here.run || runs.value[0].run;
  if (!runs.value.some((one) => one.run === run))
    return (
      <main class="alone">
        <Empty title={`Run ${run} is not among these`}>
          <ul>{runs.value.map((one) => <li key={one.run}><a href={address.write({ run: one.run, page: "overview", id: "", query: {} })}>{one.run}</a></li>)}</ul>
        </Empty>
      </main>
    );
  return <Run key={run} here={{ ...here, run }} runs={runs.value} />;
}

/** @param {{here: address.Address, runs: data.Summary[]}} props */
function Run({ here, runs }) {
  const [share, tell] = useState(0);
  const { value: index, error } = useLoad(() => data.indexOf(here.run, tell), [here.run]);
  const with_ = here.query.with && runs.some((one) => one.run === here.query.with) ? here.query.with : "";
  const { value: second, error: problem } = useLoad(() => (with_ ? data.indexOf(with_, tell) : Promise.resolve(null)), [with_]);
  if (!index || problem) return <main class="alone"><Loading error={error || problem} share={share} /></main>;
  if (with_ && !second) return <main class="alone"><Loading error="" share={share} /></main>;
  return <Shell here={here} runs={runs} index={index} second={second} />;
}

/** @param {{here: address.Address, runs: data.Summary[], index: data.Index, second: data.Index | null}} props */
function Shell({ here, runs, index, second }) {
  const main = /** @type {{current: HTMLElement | null}} */ (useRef(null));
  const [help, setHelp] = useState(false);
  const seq = address.moment(index, here.query.at) ?? index.last;
  const beside = second ?? index;
  const vs = here.query.vs || second ? (address.moment(beside, here.query.vs) ?? beside.last) : null;
  /** @type {import("./view.js").View} */
  const view = {
    index, seq, runs, address: here,
    other: vs === null ? null : { index: beside, seq: vs },
    link: (change) => address.write(address.changed(here, change)),
    go: (change, replace) => address.go(address.changed(address.read(location.hash).run ? address.read(location.hash) : here, change), replace),
  };
  const pages = PAGES.filter(([, , , needs]) => !needs || index.counts[needs]);
  const page = pages.find(([name]) => name === here.page) ?? pages[0];
  const unknown = ["at", "vs"].filter((name) => here.query[name] && address.moment(name === "vs" ? beside : index, here.query[name]) === null);

  useEffect(() => {
    document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
    document.title = `${page[1]}${here.id ? ` ${here.id}` : ""} · ${index.run} · mage-es view`;
  }, [page, here.id, index]);
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) {
      main.current?.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    first.current = false;
  }, [here.page, here.id]);
  useEffect(() => {
    const pressed = (/** @type {KeyboardEvent} */ event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
      if (here.query.keys === "off") return;
      const now = address.moment(index, address.read(location.hash).query.at) ?? index.last;
      const to = (/** @type {number} */ s) => view.go({ query: { at: address.named(index, s) } }, true);
      const act = {
        "[": () => to(step(index, now, -1)), "]": () => to(step(index, now, 1)),
        "{": () => to(step(index, now, -1, true)), "}": () => to(step(index, now, 1, true)),
        c: () => compare(view), "?": () => setHelp((on) => !on),
        "/": () => /** @type {HTMLElement | null} */ (document.querySelector("[data-search]"))?.focus(),
      }[event.key];
      const digit = "1234567890".indexOf(event.key);
      if (act) act();
      else if (digit >= 0 && pages[digit]) view.go({ page: pages[digit][0], id: "" });
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });

  const Page = page[2];
  return (
    <Viewed.Provider value={view}>
      <a class="skip" href="#main" onClick={(e) => (e.preventDefault(), main.current?.focus())}>To the page</a>
      <header class="top">
        <span class="brand">mage-es <span class="muted">view</span></span>
        {runs.length > 1 ? (
          <select aria-label="Run" value={index.run} onChange={(e) => address.go({ run: e.currentTarget.value, page: page[0], id: "", query: {} })}>
            {runs.map((one) => <option key={one.run} value={one.run}>{one.run}</option>)}
          </select>
        ) : (
          <strong class="run">{index.run}</strong>
        )}
        <span class="muted about">{[index.benchmark, number(index.last, "event"), index.state].filter(Boolean).join(", ")}</span>
        <span class="space" />
        {index.state === "unfinished" && location.protocol !== "file:" && (
          <button type="button" onClick={() => location.reload()} title="Reads the log again; nothing here refreshes by itself">Refresh</button>
        )}
        <Theme />
        <button type="button" class="square" aria-label="Keyboard" aria-expanded={help} onClick={() => setHelp(!help)}>?</button>
      </header>
      <nav aria-label="Pages">
        {pages.map(([name, title]) => (
          <a key={name} href={view.link({ page: name, id: "" })} aria-current={name === page[0] ? "page" : undefined}>{title}</a>
        ))}
      </nav>
      <main id="main" tabIndex={-1} ref={main}>
        {help && <Keys off={here.query.keys === "off"} set={(off) => view.go({ query: { keys: off ? "off" : "" } }, true)} close={() => setHelp(false)} />}
        {index.problem && index.state !== "empty" && <p class="problem" role="alert"><strong>{index.state === "damaged" ? "This log is damaged." : "About this log."}</strong> {index.problem}</p>}
        {unknown.map((name) => <p key={name} class="problem" role="alert">The address asks for the moment “{here.query[name]}”, which this run does not have; the latest is shown.</p>)}
        {index.last === 0 ? (
          index.state !== "damaged" && <Empty title="This run has no events yet">Begin it with <code>mage-es resume {index.run}</code>, then open this page again.</Empty>
        ) : (
          <Page key={page[0]} />
        )}
      </main>
      {index.last > 0 && <Scrubber />}
    </Viewed.Provider>
  );
}

/** Dark or light, for as long as this page is open: nothing is stored. */
function Theme() {
  const [dark, setDark] = useState(matchMedia("(prefers-color-scheme: dark)").matches);
  const turn = () => {
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    setDark(!dark);
    dispatchEvent(new Event("theme"));
  };
  return <button type="button" onClick={turn}>{dark ? "Light" : "Dark"}</button>;
}

/** @param {{off: boolean, set: (off: boolean) => void, close: () => void}} props */
function Keys({ off, set, close }) {
  const keys = [
    ["1 … 9", "a page"], ["[  ]", "previous, next moment"], ["{  }", "previous, next iteration"],
    ["c", "compare two moments"], ["/", "search"], ["?", "these keys"],
    ["← →", "on a handle: moments; with Shift: single events"], ["Home End", "on a handle: start, latest"],
  ];
  return (
    <section class="keys" aria-label="Keyboard">
      <dl>{keys.map(([key, what]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
      <label><input type="checkbox" checked={!off} onChange={(e) => set(!e.currentTarget.checked)} /> Single keys act</label>
      <button type="button" onClick={close}>Close</button>
    </section>
  );
}

const root = /** @type {HTMLElement} */ (document.getElementById("app"));
const begin = () => render(<Fragment><App /></Fragment>, root);
if (document.readyState === "loading") addEventListener("DOMContentLoaded", begin);
else begin();
