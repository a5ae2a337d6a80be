/** Two texts, line by line. */
import { Scroll } from "./parts";
import { brief, number, visible } from "./words";

type Sign = " " | "-" | "+" | "…";
type Line = [Sign, string];
const LARGEST = 4_000_000; // cells of the table; a larger middle is told as replaced
const signed = (sign: Sign, lines: string[]) => lines.map((line): Line => [sign, line]);

/** The fewest lines that turn one list into the other. */
function turned(a: string[], b: string[]): Line[] {
  const shortest = Math.min(a.length, b.length);
  let [head, tail] = [0, 0];
  while (head < shortest && a[head] === b[head]) head++;
  while (tail < shortest - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const [left, right] = [a, b].map((lines) => lines.slice(head, lines.length - tail));
  const small = left.length * right.length <= LARGEST;
  const middle = small ? common(left, right) : [...signed("-", left), ...signed("+", right)];
  return [...signed(" ", a.slice(0, head)), ...middle, ...signed(" ", a.slice(a.length - tail))];
}

function common(left: string[], right: string[]): Line[] {
  const width = right.length + 1;
  const longest = new Uint32Array((left.length + 1) * width); // of what both have from there on
  for (let i = left.length - 1; i >= 0; i--)
    for (let j = right.length - 1; j >= 0; j--) {
      const cell = i * width + j;
      const [skip, both] = [Math.max(longest[cell + width], longest[cell + 1]), longest[cell + width + 1] + 1];
      longest[cell] = left[i] === right[j] ? both : skip;
    }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < left.length && j < right.length) {
    const cell = i * width + j;
    if (left[i] === right[j]) (lines.push([" ", left[i++]]), j++);
    else if (longest[cell + width] >= longest[cell + 1]) lines.push(["-", left[i++]]);
    else lines.push(["+", right[j++]]);
  }
  return [...lines, ...signed("-", left.slice(i)), ...signed("+", right.slice(j))];
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
      <p class="legend">
        <span class="minus">− {names[0]}</span> <span class="plus">+ {names[1]}</span>
      </p>
      {folded(turned(before.split("\n"), after.split("\n"))).map(line)}
    </Scroll>
  );
}
