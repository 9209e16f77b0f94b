import { transformSync } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { boxesOf, drawFlame, kindOf } from './draw-flame.ts'
import { type CpuProfile, type Frame, mergeProfiles, selfBy } from './flame-tree.ts'
import { type CallFrame, sourceNames } from './source-names.ts'

const frame = (functionName: string, url = '', lineNumber = 0): CallFrame => ({
  ...{ functionName, url, lineNumber, columnNumber: 0 },
})

/** Nodes in the order of their ids; each sample is 1 ms. */
const profile = (nodes: readonly (readonly [CallFrame, ...number[]])[], samples: number[]): CpuProfile => ({
  nodes: nodes.map(([callFrame, ...children], index) => ({ id: index, callFrame, children })),
  samples,
  timeDeltas: samples.map(() => 1000),
  cpuMs: { all: 12, main: 8 },
})

const place = ({ url, lineNumber }: CallFrame) => ({ place: url || 'native', line: lineNumber + 1 })

const tree = (root: Frame): object =>
  Object.fromEntries(
    [...root.children.values()].map(each => [`${each.name}|${each.place}`, [each.totalMs, tree(each)]]),
  )

describe('mergeProfiles', () => {
  const first = profile(
    [
      [frame('(root)'), 1, 2, 5],
      [frame('(idle)')],
      [frame('claim', 'src/ops/engine.ts'), 3],
      [frame('send', 'ioredis'), 4],
      [frame('write', 'ioredis')],
      [frame('(garbage collector)')],
    ],
    [1, 1, 1, 2, 2, 4, 5],
  )

  it('divides processor time by the samples that are not idle, and by labs', () => {
    const root = mergeProfiles([first], 2, place)
    expect(root.totalMs).toBe(6)
    expect(tree(root)).toEqual({
      'claim|src/ops/engine.ts': [3, { '|ioredis': [1, {}] }],
      '(garbage collector)|native': [1, {}],
      'other threads: V8, sockets, files|native': [2, {}],
    })
  })

  it('adds the same frames of several processes', () => {
    const root = mergeProfiles([first, first], 1, place)
    expect(root.totalMs).toBe(24)
    expect(root.children.size).toBe(3)
  })

  it('puts what microtasks call beside them, and joins modules of Node', () => {
    const deep = profile(
      [
        [frame('(root)'), 1],
        [frame('runMicrotasks'), 2],
        [frame('', 'src/ops/run.ts', 6), 3],
        [frame('write', 'node:net'), 4],
        [frame('send', 'node:stream')],
      ],
      [1, 2, 3, 4],
    )
    expect(tree(mergeProfiles([deep], 1, place))).toEqual({
      'runMicrotasks|native': [2, {}],
      'line 7|src/ops/run.ts': [6, { '|node:net': [4, {}] }],
      'other threads: V8, sockets, files|native': [4, {}],
    })
  })

  it('selfBy adds the frames of a kind wherever they are', () => {
    const root = mergeProfiles([first], 1, place)
    expect(selfBy(root, kindOf)).toEqual([
      ['native', 6],
      ['ops', 4],
      ['packages', 2],
    ])
  })
})

describe('sourceNames', () => {
  const bundled = (sourcefile: string) =>
    transformSync('\n\nexport function claim() {\n  return 1\n}', { sourcefile, sourcemap: 'external' }).map
  const nameOf = (sourcefile: string) => sourceNames(() => bundled(sourcefile))(frame('claim', 'file:///a/main.mjs', 0))

  it('names file and line of the source by the map of its bundle', () => {
    expect(nameOf('../../checkout/src/ops/engine.ts')).toEqual({ place: 'src/ops/engine.ts', line: 3 })
  })

  it('names a package when the file is of one', () => {
    expect(nameOf('../node_modules/ioredis/built/redis.js').place).toBe('ioredis')
    expect(nameOf('../node_modules/@hono/node-server/dist/index.mjs').place).toBe('@hono/node-server')
  })

  it('names modules of Node, native functions, and files without a map', () => {
    const place = (functionName: string, url?: string) => sourceNames(() => undefined)(frame(functionName, url)).place
    expect(place('send', 'node:internal/streams/writable')).toBe('node:internal/streams')
    expect(place('writev')).toBe('native')
    expect(place('execute', 'wasm://wasm/0')).toBe('native')
    expect(place('x', 'file:///a/dist/chunk-A.mjs')).toBe('chunk-A.mjs')
    expect(place('x', 'file:///a/bench/measure/profiler.ts?folder=b')).toBe('bench/measure/profiler.ts')
  })
})

describe('drawFlame', () => {
  const leaf = (name: string, totalMs: number): Frame => ({
    ...{ name, place: 'src/ops/<x>.ts', selfMs: totalMs, totalMs, children: new Map() },
  })
  const root: Frame = {
    ...{ name: 'replicas', place: 'all', selfMs: 0, totalMs: 10 },
    children: new Map([
      ['small', leaf('small', 0.001)],
      ['short', leaf('short', 2)],
      ['long', leaf('long', 7)],
    ]),
  }

  it('puts callees above their caller, the widest first, and leaves out the narrowest', () => {
    expect(boxesOf(root, 10).map(({ frame: { name }, depth, x, width }) => [name, depth, x, width])).toEqual([
      ['replicas', 0, 20, 100],
      ['long', 1, 20, 70],
      ['short', 1, 90, 20],
    ])
  })

  it('is as wide as its share of the time that takes the whole width', () => {
    const svg = drawFlame(root, { title: 'A <flame>', description: 'x', fullMs: 20 })
    expect(svg).toContain('A &lt;flame&gt;')
    expect(svg).toContain('width="579.5" height="16"')
    expect(svg).toContain('long · ops/&lt;x&gt;.ts: 7.00 ms')
    expect(svg).not.toContain('<script')
  })
})
