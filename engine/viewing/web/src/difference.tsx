/** Two texts, line by line. */
import { toned } from "./marks";
import { Scroll } from "./parts";
import { brief, number, visible } from "./words";

type Sign = " " | "-" | "+" | "…";
type Line = [Sign, string];
const NEAR = 1_000; // lines in which an equal one is looked for

/** What turns one list into the other: of two lines that differ, the one goes whose equal is farther away. */
function turned(a: string[], b: string[]): Line[] {
  const far = (lines: string[], line: string, from: number) => {
    const away = lines.slice(from, from + NEAR).indexOf(line);
    return away < 0 ? NEAR : away;
  };
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length)
    if (a[i] === b[j]) (lines.push([" ", a[i++]]), j++);
    else if (far(b, a[i], j) >= far(a, b[j], i)) lines.push(["-", a[i++]]);
    else lines.push(["+", b[j++]]);
  const rest = (sign: Sign, of: string[]) => of.map((line): Line => [sign, line]);
  return [...lines, ...rest("-", a.slice(i)), ...rest("+", b.slice(j))];
}

/** Long runs of equal lines, folded. */
function folded(rows: Line[]): Line[] {
  const near = rows.map((_, n) => rows.slice(Math.max(0, n - 2), n + 3).some(([sign]) => sign !== " "));
  const lines: Line[] = [];
  for (let n = 0; n < rows.length; n++) {
    const next = near.indexOf(true, n);
    const end = next < 0 ? rows.length : next;
    if (end > n) lines.push(["…", number(end - n, "equal line")]);
    if (end < rows.length) lines.push(rows[end]);
    n = end;
  }
  return lines;
}

const SAYS: Partial<Record<Sign, string>> = { "-": "only in the first", "+": "only in the second" };
const KINDS: Record<Sign, string> = { "-": "minus", "+": "plus", " ": "", "…": "fold" };

export function difference(before: string, after: string, names: [string, string]) {
  const line = ([sign, text]: Line, n: number) => (
    <div key={n} class={KINDS[sign]}>
      <span
        class="sign"
        role={SAYS[sign] ? "img" : undefined}
        aria-label={SAYS[sign]}
        children={sign.replace("-", "−")}
      />
      <span dir="auto">{visible(brief(text)) || " "}</span>
    </div>
  );
  return (
    <Scroll label={`${names[0]} and ${names[1]}`} kind="difference">
      <p class="legend" children={[toned("minus", `− ${names[0]}`), " ", toned("plus", `+ ${names[1]}`)]} />
      {folded(turned(before.split("\n"), after.split("\n"))).map(line)}
    </Scroll>
  );
}
