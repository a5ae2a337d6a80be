/** Where a moment is on the track. Iterations are equally wide, however many events each has: none hides another. */

/**
 * @typedef {{label: string, from: number, to: number, left: number, width: number}} Stage
 * @param {import("./data.js").Index} index @returns {Stage[]} left and width are shares of the track
 */
export function stages(index) {
  /** @type {{label: string, to: number}[]} */
  const ends = index.markers.filter((marker) => !marker.phase && marker.seq <= index.last).map((marker) => ({ label: marker.name.replace("iter-", ""), to: marker.seq }));
  if (!ends.length || ends[ends.length - 1].to < index.last) ends.push({ label: "", to: index.last });
  const weights = ends.map((end) => (end.label ? 1 : 0.4));
  const all = weights.reduce((a, b) => a + b, 0);
  let from = 0;
  let left = 0;
  return ends.map(({ label, to }, n) => {
    const stage = { label, from, to, left, width: weights[n] / all };
    from = to;
    left += stage.width;
    return stage;
  });
}

/** @param {Stage[]} track @param {number} seq @returns {number} a share of the track */
export function place(track, seq) {
  const stage = track.find((one) => seq <= one.to) ?? track[track.length - 1];
  const inside = stage.to > stage.from ? (seq - stage.from) / (stage.to - stage.from) : 1;
  return stage.left + Math.max(0, Math.min(1, inside)) * stage.width;
}

/** @param {Stage[]} track @param {number} share @returns {number} a seq */
export function seqAt(track, share) {
  const stage = track.find((one) => share <= one.left + one.width) ?? track[track.length - 1];
  return Math.round(stage.from + Math.max(0, (share - stage.left) / stage.width) * (stage.to - stage.from));
}

/** The next named moment. @param {import("./data.js").Index} index @param {number} seq @param {1 | -1} way @param {boolean} [whole] iterations only */
export function step(index, seq, way, whole = false) {
  const places = [...index.markers.filter((marker) => !whole || !marker.phase).map((marker) => marker.seq), index.last].sort((a, b) => a - b);
  return way > 0 ? (places.find((place) => place > seq) ?? index.last) : (places.findLast((place) => place < seq) ?? places[0]);
}
