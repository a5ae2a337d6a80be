/** Where a moment is on the track. Iterations are equally wide, however many events each has: none hides another. */
import type { Index } from "./data";

/** Left and width are shares of the track. */
export type Stage = { label: string; from: number; to: number; left: number; width: number };

export function stages(index: Index): Stage[] {
  const ends = index.markers
    .filter((marker) => !marker.phase && marker.seq <= index.last)
    .map((marker) => ({ label: marker.name.replace("iter-", ""), to: marker.seq }));
  if ((ends.at(-1)?.to ?? 0) < index.last) ends.push({ label: "", to: index.last });
  const width = 1 / ends.length;
  return ends.map(({ label, to }, n) => ({ label, from: ends[n - 1]?.to ?? 0, to, left: n * width, width }));
}

/** The share of the track at which a seq is. */
export function place(track: Stage[], seq: number): number {
  let [low, high] = [0, track.length - 1];
  for (let mid = high >> 1; low < high; mid = (low + high) >> 1) seq <= track[mid].to ? (high = mid) : (low = mid + 1);
  const stage = track[low];
  const inside = stage.to > stage.from ? (seq - stage.from) / (stage.to - stage.from) : 1;
  return stage.left + Math.max(0, Math.min(1, inside)) * stage.width;
}

export function seqAt(track: Stage[], share: number): number {
  const stage = track.find((one) => share <= one.left + one.width) ?? track[track.length - 1];
  return Math.round(stage.from + Math.max(0, (share - stage.left) / stage.width) * (stage.to - stage.from));
}

/** The next named moment, or the next iteration. */
export function step(index: Index, seq: number, way: 1 | -1, whole = false): number {
  const named = index.markers.filter((marker) => !whole || !marker.phase).map((marker) => marker.seq);
  const places = [...named, index.last].sort((a, b) => a - b);
  if (way > 0) return places.find((one) => one > seq) ?? index.last;
  return places.findLast((one) => one < seq) ?? places[0];
}
