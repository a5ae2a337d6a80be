/** The pieces that pages are made of. Every text is a text node: nothing here makes HTML of a string. */
import { Fragment, h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { count, visible, words } from "./words.js";
import { useView } from "./view.js";

/** @typedef {import("preact").ComponentChildren} Children */

/** A link to another view. @param {{to: import("./address.js").Change, children?: Children, class?: string, title?: string, label?: string, current?: boolean}} props */
export function A({ to, children, class: kind, title, label, current }) {
  return (
    <a href={useView().link(to)} class={kind} title={title} aria-label={label} aria-current={current ? "page" : undefined}>
      {children}
    </a>
  );
}

/** @param {{seq: number | null, children?: Children}} props */
export function Seq({ seq, children }) {
  if (!seq) return <span class="muted">–</span>;
  return <A to={{ page: "events", id: String(seq) }} class="num">{children ?? count(seq)}</A>;
}

/** @param {{title: Children, note?: Children, children?: Children, id?: string, tools?: Children}} props */
export function Section({ title, note, children, id, tools }) {
  return (
    <section id={id}>
      <header class="row">
        <h2>{title}</h2>
        {tools}
      </header>
      {note && <p class="note">{note}</p>}
      {children}
    </section>
  );
}

/** What is not there, and what to do. @param {{title: string, children?: Children}} props */
export const Empty = ({ title, children }) => (
  <div class="empty">
    <strong>{title}</strong>
    {children && <div>{children}</div>}
  </div>
);

/** @param {{error: string, share?: number}} props share of a log that was read */
export const Loading = ({ error, share }) =>
  error ? (
    <Empty title="This part could not be shown">{error}</Empty>
  ) : (
    <p class="muted loading" role="status">{share ? `Reading the log: ${Math.floor(100 * share)} %` : "Reading …"}</p>
  );

/** @param {{text: string, label?: string}} props */
export function Command({ text, label = "Copy" }) {
  const [done, setDone] = useState("");
  const copy = () =>
    navigator.clipboard
      ? navigator.clipboard.writeText(text).then(() => setDone("Copied"), () => setDone("Select the line and copy it"))
      : setDone("Select the line and copy it");
  useEffect(() => setDone(""), [text]);
  return (
    <div class="command">
      <code>{text}</code>
      <button type="button" onClick={copy} aria-label={`${label}: ${text}`}>{done || label}</button>
    </div>
  );
}

const VERDICTS = /** @type {Record<string, [string, string]>} */ ({
  correct: ["●", "good"], wrong: ["✕", "bad"], unanswered: ["–", "warn"], undecided: ["?", "warn"],
  open: ["…", "quiet"], accepted: ["●", "good"], soft_rollback: ["↶", "bad"], hard_rollback: ["↶", "bad"], active: ["●", "good"], quarantined: ["■", "warn"],
});

/** A verdict or a status: sign, colour and word. @param {{of: string, bare?: boolean}} props */
export function Verdict({ of, bare }) {
  const [sign, colour] = VERDICTS[of] ?? ["·", "quiet"];
  if (bare) return <span class={`sign ${colour}`} role="img" aria-label={words(of)} title={words(of)}>{sign}</span>;
  return <span class="verdict"><span class={`sign ${colour}`} aria-hidden="true">{sign}</span>{words(of)}</span>;
}

/**
 * @typedef {{name: string, title?: Children, class?: string, grow?: boolean, cell: (n: number) => Children}} Head
 * @param {{columns: Head[], rows: number[], label: string, selected?: number | null, narrow?: boolean}} props
 */
export function Table({ columns, rows, label, selected, narrow }) {
  return (
    <Scroll label={label} class={narrow ? "narrowed" : ""}>
      <table>
        <thead>
          <tr>{columns.map((column) => <th key={column.name} scope="col" class={column.class}>{column.title ?? column.name}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map((n) => (
            <tr key={n} aria-selected={selected === n || undefined}>
              {columns.map((column) => <td key={column.name} class={column.class}>{column.cell(n)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** A wide thing that scrolls by itself, with the keyboard too. @param {{label: string, children: Children, class?: string, onScroll?: (e: Event) => void, inner?: any}} props */
export function Scroll({ label, children, class: kind = "", onScroll, inner }) {
  return (
    <div class={`scroll ${kind}`} role="region" aria-label={label} tabIndex={0} onScroll={onScroll} ref={inner}>
      {children}
    </div>
  );
}

const ROW = 33;
const TALLEST = 8_000_000; // browsers stop counting pixels above some 16 million

/**
 * A table of any length: only the rows in sight are in the page.
 * @param {{columns: Head[], rows: number[], label: string, selected?: number | null, height?: number}} props
 */
export function Long({ columns, rows, label, selected = null, height = 560 }) {
  const box = /** @type {{current: HTMLDivElement | null}} */ (useRef(null));
  const [top, setTop] = useState(0);
  const room = Math.ceil(height / ROW) + 8;
  const full = rows.length * ROW;
  const scale = Math.max(1, full / TALLEST);
  const first = Math.max(0, Math.min(rows.length - room, Math.floor((top * scale) / ROW) - 3));
  const seen = rows.slice(first, first + room);
  const above = scale > 1 ? Math.max(0, top - 3 * ROW) : first * ROW;
  useEffect(() => {
    const place = selected === null ? -1 : rows.indexOf(selected);
    if (box.current && place >= 0) box.current.scrollTop = Math.max(0, (place * ROW) / scale - height / 3);
  }, [selected]);
  if (rows.length <= 40) return <Table columns={columns} rows={rows} label={label} selected={selected} />;
  return (
    <div class="long" style={{ "--height": `${height}px` }}>
      <Scroll label={`${label}, ${count(rows.length)} rows`} inner={box} onScroll={(e) => setTop(/** @type {HTMLElement} */ (e.currentTarget).scrollTop)}>
        <table aria-rowcount={rows.length + 1}>
          <thead>
            <tr>{columns.map((column) => <th key={column.name} scope="col" class={column.class}>{column.title ?? column.name}</th>)}</tr>
          </thead>
          <tbody>
            <tr class="spacer" aria-hidden="true" style={{ height: `${above}px` }}><td colSpan={columns.length} /></tr>
            {seen.map((n, k) => (
              <tr key={n} aria-rowindex={first + k + 2} aria-selected={selected === n || undefined}>
                {columns.map((column) => <td key={column.name} class={column.class}>{column.cell(n)}</td>)}
              </tr>
            ))}
            <tr class="spacer" aria-hidden="true" style={{ height: `${Math.max(0, full / scale - above - seen.length * ROW)}px` }}><td colSpan={columns.length} /></tr>
          </tbody>
        </table>
      </Scroll>
    </div>
  );
}

/** Facts as a list of terms. @param {{rows: any[][], class?: string}} props a term and a fact each */
export const Facts = ({ rows, class: kind = "" }) => (
  <dl class={`facts ${kind}`}>{rows.map(([term, fact], n) => <div key={n}><dt>{term}</dt><dd>{fact}</dd></div>)}</dl>
);

/** @param {{figures: {label: string, value: Children, note?: Children, tone?: string}[]}} props */
export const Figures = ({ figures }) => (
  <dl class="figures">
    {figures.map(({ label, value, note, tone }) => (
      <div key={label}>
        <dt>{label}</dt>
        <dd><span class={`value ${tone ?? ""}`}>{value}</span>{note && <span class="note">{note}</span>}</dd>
      </div>
    ))}
  </dl>
);

/** Filters of a list; each choice is a part of the address. @param {{name: string, label: string, choices: [string, string][], value: string}} props */
export function Choice({ name, label, choices, value }) {
  const view = useView();
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(e) => view.go({ query: { [name]: e.currentTarget.value } }, true)}>
        {choices.map(([key, text]) => <option key={key} value={key}>{text}</option>)}
      </select>
    </label>
  );
}

/** @param {{name?: string, label: string, value: string, placeholder?: string}} props */
export function Search({ name = "q", label, value, placeholder }) {
  const view = useView();
  return (
    <label class="field wide">
      <span>{label}</span>
      <input type="search" value={value} placeholder={placeholder} spellcheck={false} data-search=""
        onInput={(e) => view.go({ query: { [name]: e.currentTarget.value } }, true)} />
    </label>
  );
}

/** A long text, its end folded away until asked for. @param {{text: string, limit?: number}} props */
export function Text({ text, limit = 6_000 }) {
  const [shown, setShown] = useState(limit);
  useEffect(() => setShown(limit), [text]);
  return (
    <Fragment>
      <pre class="text" dir="auto">{visible(text.slice(0, shown))}</pre>
      {text.length > shown && (
        <button type="button" onClick={() => setShown(shown + 50_000)}>Show more: {count(text.length - shown)} characters left</button>
      )}
    </Fragment>
  );
}

/** @param {string} name */
export const swatch = (name) => <span class={`swatch ${name}`} aria-hidden="true" />;
