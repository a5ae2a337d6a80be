/**
 * The graph's own layer. Births and deaths are attributes and the moment is a uniform, so that moving through time sends
 * one number to the card.
 */

/** A graph: x and y, birth and death, layer (0 to 3) and size of each node; two ends and birth of each edge, in order. */
export interface Shape {
  place: Float32Array;
  life: Float32Array;
  layer: Uint8Array;
  size: Float32Array;
  ends: Uint32Array;
  born: number[];
}

export interface Scene {
  seq: number;
  /** The other moment: what was born since has a colour of its own. -1: there is none. */
  since: number;
  /** What is in the middle, and pixels for one unit. */
  x: number;
  y: number;
  scale: number;
  /** A bit for each layer that is shown. */
  layers: number;
  colours: number[][];
  line: number[];
  accent: number[];
  ratio: number;
  /** A sample of very many will do, while things move. */
  hasty: boolean;
}

export interface Layer {
  draw: (scene: Scene) => void;
  /** Light up some edges, and nodes (2: a neighbour, 3: the one); all others are faint. */
  focus: (lit: { nodes: Uint8Array; edges: number[] } | null) => void;
}

/** Nodes of memories, and edges, that are drawn in a moment on machines without a graphics card too. */
export const SAMPLE = 6_000;

const NODE = `#version 300 es
in vec2 place, life; in float focus, kind, size;
uniform float seq, since, ratio, scale; uniform vec2 middle, room; uniform int layers; uniform vec3 colours[4], accent;
out vec4 ink; flat out int shape;
void main() {
  vec2 at = (place - middle) * scale / room * 2.0;
  bool shown = life.x <= seq && seq < life.y && (layers & (1 << int(kind))) != 0;
  gl_Position = shown ? vec4(at.x, -at.y, 0.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
  float grown = clamp(sqrt(scale / 300.0), 0.55, 1.6);
  gl_PointSize = (size * grown * (focus > 1.5 ? 1.25 : 1.0) + 2.0) * ratio;
  bool fresh = since >= 0.0 && life.x > since;
  shape = int(kind);
  ink = vec4(focus > 2.5 || fresh ? accent : colours[int(kind)], focus < 0.5 ? 0.2 : 1.0);
}`;
const POINT = `#version 300 es
precision mediump float; in vec4 ink; flat in int shape; out vec4 colour;
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
in vec2 place; uniform float scale; uniform vec2 middle, room;
void main() { gl_Position = vec4((place - middle) * scale / room * vec2(2.0, -2.0), 0.0, 1.0); }`;
const STROKE = `#version 300 es
precision mediump float; uniform vec4 ink; out vec4 colour;
void main() { colour = vec4(ink.rgb, 1.0) * ink.a; }`;

/** How far a node reaches, in pixels, as the shader draws it. */
export const radius = (size: number, scale: number, lit: boolean) =>
  (size * Math.max(0.55, Math.min(1.6, Math.sqrt(scale / 300))) * (lit ? 1.25 : 1) + 2) / 2;

function program(gl: WebGL2RenderingContext, vertex: string, fragment: string) {
  const made = gl.createProgram();
  for (const source of [vertex, fragment]) {
    const shader = gl.createShader(source === vertex ? gl.VERTEX_SHADER : gl.FRAGMENT_SHADER) as WebGLShader;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
  }
  ["place", "life", "focus", "kind", "size"].forEach((name, n) => gl.bindAttribLocation(made, n, name));
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(`the graph: ${gl.getProgramInfoLog(made)}`);
  return made;
}

/** Every so many of a list, so that they are a fair sample, in its order. */
const every = (step: number, count: number) => Array.from({ length: Math.ceil(count / step) }, (_, k) => k * step);

/** What draws a graph on a canvas; null where the browser has no WebGL2. */
export function layerOf(canvas: HTMLCanvasElement, { place, life, layer, size, ends, born }: Shape): Layer | null {
  const gl = canvas.getContext("webgl2", { antialias: born.length < 20_000, powerPreference: "low-power" });
  if (!gl) return null;
  const [points, lines] = [program(gl, NODE, POINT), program(gl, EDGE, STROKE)];
  const attribute = (at: number, values: Float32Array | Uint8Array, parts: number) => {
    const buffer = gl.createBuffer();
    const fill = (these: Float32Array | Uint8Array) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, these, gl.DYNAMIC_DRAW);
    };
    fill(values);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, parts, values instanceof Uint8Array ? gl.UNSIGNED_BYTE : gl.FLOAT, false, 0, 0);
    return fill;
  };
  /** Nodes, or ends of edges, to be drawn: all of them or the first ones. */
  const order = (nodes: Iterable<number>) => {
    const [buffer, list] = [gl.createBuffer(), Uint32Array.from(nodes)];
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, list, gl.STATIC_DRAW);
    return (mode: number, first = list.length) => {
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffer);
      gl.drawElements(mode, first, gl.UNSIGNED_INT, 0);
    };
  };
  const plain = new Uint8Array(layer.length).fill(1);
  attribute(0, place, 2);
  attribute(1, life, 2);
  const focus = attribute(2, plain, 1);
  attribute(3, layer, 1);
  attribute(4, size, 1);
  const all = Array.from(layer.keys());
  const many = all.filter((n) => layer[n] > 1);
  const few = order(all.filter((n) => layer[n] < 2)); // skills and task types lie above
  const step = Math.ceil(born.length / SAMPLE) || 1;
  const edgesOf = (some: number[]) => order(some.flatMap((k) => [ends[2 * k], ends[2 * k + 1]]));
  const nodes = [order(many), order(every(Math.ceil(many.length / SAMPLE) || 1, many.length).map((k) => many[k]))];
  const edges = [order(ends), edgesOf(every(step, born.length))];
  let lit: ReturnType<typeof order> | null = null;
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  return {
    focus(these) {
      focus(these?.nodes ?? plain);
      lit = these && edgesOf(these.edges);
    },
    draw({ seq, since, x, y, scale, ratio, layers, colours, line, accent, hasty }) {
      const { width, height } = gl.canvas;
      gl.viewport(0, 0, width, height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      const use = (used: WebGLProgram) => {
        const at = (name: string) => gl.getUniformLocation(used, name);
        gl.useProgram(used);
        for (const [name, value] of Object.entries({ seq, since, scale, ratio })) gl.uniform1f(at(name), value);
        gl.uniform2f(at("middle"), x, y);
        gl.uniform2f(at("room"), width / ratio, height / ratio);
        return at;
      };
      const ink = use(lines)("ink");
      const [known, sampled] = [born.findLastIndex((from) => from <= seq) + 1, hasty ? step : 1];
      const shown = Math.ceil(known / sampled);
      const faint = Math.max(0.05, Math.min(0.55, 15 / Math.sqrt(Math.ceil(born.length / sampled) + 1)));
      gl.uniform4fv(ink, [...line, lit ? 0.08 : faint]);
      edges[Number(hasty)](gl.LINES, 2 * shown);
      gl.uniform4fv(ink, [...accent, 0.8]);
      lit?.(gl.LINES);
      const at = use(points);
      gl.uniform1i(at("layers"), layers);
      gl.uniform3fv(at("colours"), colours.flat());
      gl.uniform3fv(at("accent"), accent);
      nodes[Number(hasty)](gl.POINTS);
      few(gl.POINTS);
    },
  };
}
