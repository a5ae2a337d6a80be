/** Two texts, line by line. */
import { h } from "preact";
import { Scroll } from "./parts";
import { brief, number, visible } from "./words";

type Sign = " " | "-" | "+" | "…";
type Line = [Sign, string];
const LARGEST = 4_000_000; // cells of the table; a larger middle is told as replaced

/** The fewest lines that turn one list into the other. */
export function difference(a: string[], b: string[]): Line[] {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < Math.min(a.length, b.length) - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const left = a.slice(head, a.length - tail);
  const right = b.slice(head, b.length - tail);
  const signed = (sign: Sign, lines: string[]): Line[] => lines.map((line) => [sign, line]);
  const small = left.length * right.length <= LARGEST;
  const middle = small ? common(left, right) : [...signed("-", left), ...signed("+", right)];
  return [...signed(" ", a.slice(0, head)), ...middle, ...signed(" ", a.slice(a.length - tail))];
}

function common(left: string[], right: string[]): Line[] {
  const width = right.length + 1;
  const longest = new Uint32Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i--)
    for (let j = right.length - 1; j >= 0; j--) {
      const cell = i * width + j;
      longest[cell] =
        left[i] === right[j] ? longest[cell + width + 1] + 1 : Math.max(longest[cell + width], longest[cell + 1]);
    }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    const cell = i * width + j;
    const drop = j >= right.length || (i < left.length && longest[cell + width] >= longest[cell + 1]);
    if (i < left.length && j < right.length && left[i] === right[j]) (lines.push([" ", left[i++]]), j++);
    else if (drop) lines.push(["-", left[i++]]);
    else lines.push(["+", right[j++]]);
  }
  return lines;
}

/** Long runs of equal lines, folded. */
function folded(rows: Line[]): Line[] {
  const near = rows.map((_, n) => rows.slice(Math.max(0, n - 2), n + 3).some(([sign]) => sign !== " "));
  const lines: Line[] = [];
  for (let n = 0; n < rows.length;) {
    let end = n;
    while (end < rows.length && !near[end]) end++;
    if (end > n) lines.push(["…", number(end - n, "equal line")]);
    else lines.push(rows[end++]);
    n = end;
  }
  return lines;
}

const KINDS: Record<Sign, [kind: string, says: string | undefined]> = {
  "-": ["minus", "only in the first"],
  "+": ["plus", "only in the second"],
  " ": ["", undefined],
  "…": ["fold", undefined],
};

export function Difference({ before, after, names }: { before: string; after: string; names: [string, string] }) {
  const rows = folded(difference(before.split("\n"), after.split("\n")));
  return (
    <Scroll label={`${names[0]} and ${names[1]}`} kind="difference">
      <p class="legend">
        <span class="minus">− {names[0]}</span> <span class="plus">+ {names[1]}</span>
      </p>
      {rows.map(([sign, text], n) => (
        <div key={n} class={KINDS[sign][0]}>
          <span
            class="sign"
            role={KINDS[sign][1] ? "img" : undefined}
            aria-label={KINDS[sign][1]}
            children={sign.replace("-", "−")}
          />
          <span dir="auto">{visible(brief(text)) || " "}</span>
        </div>
      ))}
    </Scroll>
  );
}
