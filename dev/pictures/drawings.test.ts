import { describe, expect, it } from 'vitest'
import { drawMetrics } from './draw-metrics.ts'
import { drawTrace, rowsOf } from './draw-trace.ts'
import { ticks } from './svg.ts'
import type { ReceivedSpan } from './trace-receiver.ts'

const span = (name: string, parent: string, startMs: number, endMs: number): ReceivedSpan => ({
  ...{ traceId: 't', spanId: name, parentSpanId: parent, name, kind: 'internal', startMs, endMs },
  ...{ attributes: {}, service: 'skylab', replica: 'replica-1' },
})

describe('drawTrace', () => {
  const spans = [
    span('late', 'root', 60, 90),
    span('within', 'early', 20, 30),
    span('early', 'root', 10, 50),
    span('root', 'the client', 0, 100),
  ]

  it('has a row for each span, below its parent, by time', () => {
    expect(rowsOf(spans).map(({ span, depth }) => `${depth} ${span.name}`)).toEqual([
      '0 root',
      '1 early',
      '2 within',
      '1 late',
    ])
  })

  it('shortens routes by their common prefix', () => {
    const svg = drawTrace('x', [span('POST /nublado/spawner/v1/labs/:username/create', '', 0, 1)])
    expect(svg).toContain('>POST …/labs/:username/create<')
  })

  it('draws a bar for each span, with its begin and length', () => {
    const svg = drawTrace('A <trace>', spans)
    expect(svg).toContain('A &lt;trace&gt;')
    const bars = [...svg.matchAll(/<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="12"/g)].map(([, x, w]) => [
      Number(x),
      Number(w),
    ])
    expect(bars).toEqual([
      [300, 610],
      [361, 244],
      [422, 61],
      [666, 183],
    ])
  })
})

it('drawMetrics draws a line for each series, within its panel', () => {
  const points = [
    [0, 0],
    [5, 100],
    [10, 50],
  ] as const
  const svg = drawMetrics('Metrics', [{ title: 'Labs', series: [{ label: 'running', points }] }], 10)
  const [, path] = /class="line"[^>]* d="([^"]+)"/.exec(svg)!
  const places = path!
    .split(/[ML]/)
    .slice(1)
    .map(place => place.split(' ').map(Number))
  expect(places.map(([x]) => x)).toEqual([64, 280, 496])
  const [bottom, highest, middle] = places.map(([, y]) => y!)
  expect(bottom! - middle!).toBeCloseTo((bottom! - highest!) / 2, 0)
})

it('ticks returns round numbers', () => {
  expect(ticks(100, 5)).toEqual([0, 20, 40, 60, 80, 100])
  expect(ticks(1.08, 4)).toEqual([0, 0.5, 1])
  expect(ticks(1834, 6)).toEqual([0, 500, 1000, 1500])
})
