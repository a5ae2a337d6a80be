/**
 * The graph's own layer. Births and deaths are attributes and the moment is a uniform, so that moving through time sends
 * one number to the card. Without WebGL2 the same picture is drawn on a 2D canvas.
 *
 * @typedef {{x: Float32Array, y: Float32Array, birth: Float32Array, death: Float32Array, layer: Uint8Array, size: Float32Array,
 *   source: Uint32Array, target: Uint32Array, edgeBirth: Float32Array, edgeDeath: Float32Array}} Shape
 * @typedef {{seq: number, since: number, x: number, y: number, scale: number, colours: number[][], line: number[], accent: number[],
 *   layers: number, ratio: number, hasty: boolean}} Scene hasty: a sample of very many edges will do; x and y: what is in the middle; scale: pixels for one unit; since: -1 or the other moment
 * @typedef {{draw: (scene: Scene) => void, focus: (nodes: Uint8Array | null, edges: Uint8Array | null) => void, free: () => void}} Layer
 */

/** Edges, and nodes of memories, that are drawn at once on machines without a graphics card too. */
export const SAMPLE = 20_000;

const NODE = `#version 300 es
in vec2 place; in vec2 life; in float kind; in float size; in float focus;
uniform float seq, since, ratio; uniform vec2 middle, room; uniform float scale; uniform int layers;
uniform vec3 colours[4]; uniform vec3 accent;
out vec4 ink; flat out int shape; flat out float fresh;
void main() {
  bool alive = life.x <= seq && seq < life.y && (layers & (1 << int(kind))) != 0;
  vec2 at = (place - middle) * scale / room * 2.0;
  gl_Position = alive ? vec4(at.x, -at.y, 0.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
  float grown = clamp(sqrt(scale / 300.0), 0.55, 1.6);
  gl_PointSize = (size * grown * (focus > 1.5 ? 1.25 : 1.0) + 2.0) * ratio;
  fresh = since >= 0.0 && life.x > since ? 1.0 : 0.0;
  shape = int(kind);
  ink = vec4(focus > 2.5 || fresh > 0.5 ? accent : colours[int(kind)], focus < 0.5 ? 0.2 : 1.0);
}`;
const POINT = `#version 300 es
precision mediump float; in vec4 ink; flat in int shape; flat in float fresh; out vec4 colour;
void main() {
  vec2 p = gl_PointCoord * 2.0 - 1.0; float d;
  if (shape == 0) d = length(p);
  else if (shape == 1) d = max(abs(p.x), abs(p.y)) * 1.15;
  else if (shape == 2) d = (abs(p.x) + abs(p.y));
  else d = max(abs(p.x) * 1.1 + p.y * 0.6, -p.y * 1.2);
  float edge = fwidth(d) * 1.2;
  float a = 1.0 - smoothstep(0.95 - edge, 0.95, d);
  if (a < 0.02) discard;
  colour = vec4(ink.rgb, 1.0) * ink.a * a;
}`;
const EDGE = `#version 300 es
in vec2 place; in vec2 life; in float focus; uniform float seq; uniform vec2 middle, room; uniform float scale, faint; uniform vec3 line, accent;
out vec4 ink;
void main() {
  bool alive = life.x <= seq && seq < life.y;
  vec2 at = (place - middle) * scale / room * 2.0;
  gl_Position = alive ? vec4(at.x, -at.y, 0.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
  ink = focus > 1.5 ? vec4(accent, 0.8) : vec4(line, focus < 0.5 ? 0.08 : faint);
}`;
const STROKE = `#version 300 es
precision mediump float; in vec4 ink; out vec4 colour; void main() { colour = vec4(ink.rgb, 1.0) * ink.a; }`;

/** How far a node reaches, in pixels, as the shader draws it. @param {number} size @param {number} scale @param {boolean} lit */
export const radius = (size, scale, lit) => (size * Math.max(0.55, Math.min(1.6, Math.sqrt(scale / 300))) * (lit ? 1.25 : 1) + 2) / 2;

/** @param {HTMLCanvasElement} canvas @param {Shape} shape @returns {Layer} */
export function layer(canvas, shape) {
  const gl = canvas.getContext("webgl2", { antialias: shape.source.length < 20_000, powerPreference: "low-power" });
  return gl ? onCard(gl, shape) : onPaper(canvas, shape);
}

/** @param {WebGL2RenderingContext} gl @param {string} vertex @param {string} fragment @param {string[]} attributes */
function program(gl, vertex, fragment, attributes) {
  const made = gl.createProgram();
  for (const [kind, source] of /** @type {[number, string][]} */ ([[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]])) {
    const shader = /** @type {WebGLShader} */ (gl.createShader(kind));
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
  }
  attributes.forEach((name, n) => gl.bindAttribLocation(made, n, name));
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(`the graph's shader: ${gl.getProgramInfoLog(made)}`);
  return made;
}

/** The same numbers in an order that tells nothing: steps of a prime around the list. @param {number[]} list */
function mix(list) {
  const prime = list.length % 7919 ? 7919 : 7907;
  return list.map((_, k) => list[(k * prime) % list.length]);
}

/** @param {WebGL2RenderingContext} gl @param {Shape} shape @returns {Layer} */
function onCard(gl, shape) {
  const { length: nodes } = shape.x;
  const { length: edges } = shape.source;
  const points = program(gl, NODE, POINT, ["place", "life", "kind", "size", "focus"]);
  const lines = program(gl, EDGE, STROKE, ["place", "life", "focus"]);
  const attribute = (/** @type {number} */ at, /** @type {ArrayBufferView} */ values, /** @type {number} */ size, /** @type {number} */ type = gl.FLOAT) => {
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, size, type, false, 0, 0);
    return buffer;
  };
  const pairs = (/** @type {number} */ n, /** @type {(k: number) => number} */ p, /** @type {(k: number) => number} */ q) => {
    const out = new Float32Array(2 * n);
    for (let k = 0; k < n; k++) (out[2 * k] = p(k)), (out[2 * k + 1] = q(k));
    return out;
  };
  // Both are mixed, so that the first of them are a fair sample; skills and task types come last, and lie above.
  const all = Array.from(shape.layer, (_, k) => k);
  const many = mix(all.filter((k) => shape.layer[k] > 1));
  const order = Uint32Array.from([...many, ...all.filter((k) => shape.layer[k] < 2)]);
  const mixed = mix(Array.from(shape.source, (_, k) => k));
  const nodeArray = gl.createVertexArray();
  gl.bindVertexArray(nodeArray);
  attribute(0, pairs(nodes, (k) => shape.x[order[k]], (k) => shape.y[order[k]]), 2);
  attribute(1, pairs(nodes, (k) => shape.birth[order[k]], (k) => shape.death[order[k]]), 2);
  attribute(2, Uint8Array.from(order, (k) => shape.layer[k]), 1, gl.UNSIGNED_BYTE);
  attribute(3, Float32Array.from(order, (k) => shape.size[k]), 1);
  const nodeFocus = attribute(4, new Uint8Array(nodes).fill(1), 1, gl.UNSIGNED_BYTE);
  const edgeArray = gl.createVertexArray();
  gl.bindVertexArray(edgeArray);
  const end = (/** @type {number} */ k) => (k & 1 ? shape.target : shape.source)[mixed[k >> 1]];
  attribute(0, pairs(2 * edges, (k) => shape.x[end(k)], (k) => shape.y[end(k)]), 2);
  attribute(1, pairs(2 * edges, (k) => shape.edgeBirth[mixed[k >> 1]], (k) => shape.edgeDeath[mixed[k >> 1]]), 2);
  const edgeFocus = attribute(2, new Uint8Array(2 * edges).fill(1), 1, gl.UNSIGNED_BYTE);
  gl.bindVertexArray(null);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  return {
    focus(onNodes, onEdges) {
      gl.bindBuffer(gl.ARRAY_BUFFER, nodeFocus);
      gl.bufferData(gl.ARRAY_BUFFER, onNodes ? Uint8Array.from(order, (k) => onNodes[k]) : new Uint8Array(nodes).fill(1), gl.DYNAMIC_DRAW);
      const ends = new Uint8Array(2 * edges).fill(1);
      if (onEdges) for (let k = 0; k < edges; k++) ends[2 * k] = ends[2 * k + 1] = onEdges[mixed[k]];
      gl.bindBuffer(gl.ARRAY_BUFFER, edgeFocus);
      gl.bufferData(gl.ARRAY_BUFFER, ends, gl.DYNAMIC_DRAW);
    },
    draw(scene) {
      const { width, height } = gl.canvas;
      gl.viewport(0, 0, width, height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      for (const used of [lines, points]) {
        gl.useProgram(used);
        const uniform = (/** @type {string} */ name) => gl.getUniformLocation(used, name);
        gl.uniform1f(uniform("seq"), scene.seq);
        gl.uniform1f(uniform("since"), scene.since);
        gl.uniform1f(uniform("ratio"), scene.ratio);
        gl.uniform2f(uniform("middle"), scene.x, scene.y);
        gl.uniform2f(uniform("room"), width / scene.ratio, height / scene.ratio);
        gl.uniform1f(uniform("scale"), scene.scale);
        gl.uniform1f(uniform("faint"), Math.max(0.05, Math.min(0.55, 60 / Math.sqrt(edges + 1) / 4)));
        gl.uniform1i(uniform("layers"), scene.layers);
        gl.uniform3fv(uniform("colours"), scene.colours.flat());
        gl.uniform3fv(uniform("line"), scene.line);
        gl.uniform3fv(uniform("accent"), scene.accent);
        gl.bindVertexArray(used === lines ? edgeArray : nodeArray);
        const some = (/** @type {number} */ n) => (scene.hasty ? Math.min(n, SAMPLE) : n);
        if (used === lines) gl.drawArrays(gl.LINES, 0, 2 * some(edges));
        else {
          gl.drawArrays(gl.POINTS, 0, some(many.length));
          gl.drawArrays(gl.POINTS, many.length, nodes - many.length);
        }
      }
    },
    free: () => gl.getExtension("WEBGL_lose_context")?.loseContext(),
  };
}

/** @param {HTMLCanvasElement} canvas @param {Shape} shape @returns {Layer} */
function onPaper(canvas, shape) {
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  /** @type {Uint8Array | null} */
  let lit = null;
  /** @type {Uint8Array | null} */
  let litEdges = null;
  const css = (/** @type {number[]} */ rgb, /** @type {number} */ a) => `rgba(${rgb.map((v) => Math.round(255 * v)).join(",")},${a})`;
  return {
    focus: (nodes, edges) => void ([lit, litEdges] = [nodes, edges]),
    draw(scene) {
      ctx.setTransform(1, 0, 0, 1, 0, 0);
      ctx.clearRect(0, 0, canvas.width, canvas.height);
      ctx.setTransform(scene.ratio, 0, 0, scene.ratio, 0, 0);
      const X = (/** @type {number} */ n) => (shape.x[n] - scene.x) * scene.scale + canvas.width / scene.ratio / 2;
      const Y = (/** @type {number} */ n) => (shape.y[n] - scene.y) * scene.scale + canvas.height / scene.ratio / 2;
      for (const on of [0, 1, 2]) {
        ctx.beginPath();
        for (let k = 0; k < shape.source.length; k++)
          if (shape.edgeBirth[k] <= scene.seq && scene.seq < shape.edgeDeath[k] && (litEdges?.[k] ?? 1) === on) {
            ctx.moveTo(X(shape.source[k]), Y(shape.source[k]));
            ctx.lineTo(X(shape.target[k]), Y(shape.target[k]));
          }
        ctx.strokeStyle = on === 2 ? css(scene.accent, 0.8) : css(scene.line, on ? 0.4 : 0.05);
        ctx.stroke();
      }
      for (let n = 0; n < shape.x.length; n++) {
        if (shape.birth[n] > scene.seq || scene.seq >= shape.death[n] || !(scene.layers & (1 << shape.layer[n]))) continue;
        const on = lit?.[n] ?? 1;
        const fresh = scene.since >= 0 && shape.birth[n] > scene.since;
        ctx.fillStyle = css(on > 2 || fresh ? scene.accent : scene.colours[shape.layer[n]], on ? 1 : 0.12);
        const r = radius(shape.size[n], scene.scale, on > 1);
        ctx.beginPath();
        if (shape.layer[n] === 0) ctx.arc(X(n), Y(n), r, 0, 7);
        else if (shape.layer[n] === 1) ctx.rect(X(n) - r, Y(n) - r, 2 * r, 2 * r);
        else [[0, -1], [1, shape.layer[n] === 2 ? 0 : 1], [shape.layer[n] === 2 ? 0 : -1, 1], [-1, shape.layer[n] === 2 ? 0 : 1]].forEach(([p, q], k) => (k ? ctx.lineTo(X(n) + p * r, Y(n) + q * r) : ctx.moveTo(X(n) + p * r, Y(n) + q * r)));
        ctx.fill();
      }
    },
    free() {},
  };
}
