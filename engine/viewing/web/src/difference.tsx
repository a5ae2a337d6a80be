/** Two texts: which lines went and came, and in a line that changed which words. */
import { diffArrays, diffWordsWithSpace } from "../vendor/diff/diff.mjs";
import { toned } from "./marks";
import { Scroll } from "./parts";
import { brief, number } from "./words";

type Sign = " " | "-" | "+" | "…";
/** A part of a line, and whether the other text has other words there. */
type Piece = [text: string, differs: boolean];
type Line = [sign: Sign, pieces: Piece[]];

const PATIENCE = { timeout: 500 }; // ms for texts that have little in common
const LONG = 100_000; // letters of which no words are compared
const ALIKE = 0.3; // of the letters, from which on one line is another one changed

const whole = (sign: Sign, lines: string[]) => lines.map((text): Line => [sign, [[text, false]]]);

/** What turns one text into the other, by the fewest lines. */
function turned(a: string, b: string): Line[] {
  const [before, after] = [a.split("\n"), b.split("\n")];
  const parts = diffArrays(before, after, PATIENCE);
  if (!parts) return [...whole("-", before), ...whole("+", after)];
  const lines: Line[] = [];
  for (let n = 0; n < parts.length; n++) {
    const [{ value, added, removed }, next] = [parts[n], parts[n + 1]];
    if (removed && next?.added) (lines.push(...reworded(value, next.value)), n++);
    else lines.push(...whole(removed ? "-" : added ? "+" : " ", value));
  }
  return lines;
}

/** Lines in the place of others: those that went, those that came, and the words in which they differ. */
function reworded(before: string[], after: string[]): Line[] {
  if (before.length === after.length && before.length > 1)
    return before.flatMap((line, n) => reworded([line], [after[n]]));
  const [a, b] = [before.join("\n"), after.join("\n")];
  const apart = [...whole("-", before), ...whole("+", after)];
  const parts = a.length + b.length < LONG ? diffWordsWithSpace(a, b, PATIENCE) : undefined;
  if (!parts) return apart;
  const same = parts.reduce((sum, { value, added, removed }) => sum + (added || removed ? 0 : value.trim().length), 0);
  if (same < ALIKE * Math.min(a.length, b.length)) return apart;
  const side = (sign: Sign, without: "added" | "removed") => {
    const lines: Piece[][] = [[]];
    for (const part of parts.filter((one) => !one[without]))
      for (const [n, text] of part.value.split("\n").entries()) {
        if (n) lines.push([]);
        if (text) lines[lines.length - 1].push([text, part.added || part.removed]);
      }
    return lines.map((pieces): Line => [sign, pieces]);
  };
  return [...side("-", "added"), ...side("+", "removed")];
}

/** Long runs of equal lines, folded. */
function folded(rows: Line[]): Line[] {
  const near = rows.map((_, n) => rows.slice(Math.max(0, n - 2), n + 3).some(([sign]) => sign !== " "));
  const lines: Line[] = [];
  for (let n = 0; n < rows.length; n++) {
    const next = near.indexOf(true, n);
    const end = next < 0 ? rows.length : next;
    if (end > n) lines.push(["…", [[number(end - n, "equal line"), false]]]);
    if (end < rows.length) lines.push(rows[end]);
    n = end;
  }
  return lines;
}

const SAYS: Partial<Record<Sign, string>> = { "-": "only in the first", "+": "only in the second" };
const KINDS: Record<Sign, string> = { "-": "minus", "+": "plus", " ": "", "…": "fold" };

export function difference(before: string, after: string, names: [string, string]) {
  const line = ([sign, pieces]: Line, n: number) => {
    const Word = sign === "-" ? "del" : "ins";
    const piece = ([text, differs]: Piece) => (differs ? <Word>{brief(text)}</Word> : brief(text));
    return (
      <div key={n} class={KINDS[sign]}>
        <span
          class="sign"
          role={SAYS[sign] ? "img" : undefined}
          aria-label={SAYS[sign]}
          children={sign.replace("-", "−")}
        />
        <span dir="auto">{pieces.length ? pieces.map(piece) : " "}</span>
      </div>
    );
  };
  return (
    <Scroll label={`${names[0]} and ${names[1]}`} kind="difference">
      <p class="legend" children={[toned("minus", `− ${names[0]}`), " ", toned("plus", `+ ${names[1]}`)]} />
      {folded(turned(before, after)).map(line)}
    </Scroll>
  );
}
