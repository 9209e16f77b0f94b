/** Draws a trace as a timeline: one row for each span, below its parent. */

import { at, svgPage, text, ticks } from './svg.ts'
import type { ReceivedSpan } from './trace-receiver.ts'

interface Row {
  readonly span: ReceivedSpan
  readonly depth: number
}

const [width, left, right, top, rowHeight] = [1040, 300, 130, 92, 19]
const plotWidth = width - left - right

const colours = { server: '#2f6db5', operation: '#7a8798', step: '#d19a2a', kubernetes: '#2e7d4f', redis: '#b5443a' }
type Colour = keyof typeof colours
const legend: Readonly<Record<Colour, string>> = {
  server: 'request',
  operation: 'operation',
  step: 'step',
  kubernetes: 'request to Kubernetes',
  redis: 'Redis',
}

/** Rows in reading order: by begin, each followed by its children. */
export function rowsOf(spans: readonly ReceivedSpan[]): Row[] {
  const ids = new Set(spans.map(({ spanId }) => spanId))
  const children = Map.groupBy(spans, ({ parentSpanId }) => (ids.has(parentSpanId) ? parentSpanId : ''))
  const below = (id: string, depth: number): Row[] =>
    [...(children.get(id) ?? [])]
      .sort((a, b) => a.startMs - b.startMs)
      .flatMap(span => [{ span, depth }, ...below(span.spanId, depth + 1)])
  return below('', 0)
}

/** @param spans all spans of one trace */
export function drawTrace(title: string, spans: readonly ReceivedSpan[]): string {
  const rows = rowsOf(spans)
  const beginMs = Math.min(...spans.map(({ startMs }) => startMs))
  const lengthMs = Math.max(...spans.map(({ endMs }) => endMs)) - beginMs
  const scale = (ms: number) => left + (plotWidth * (ms - beginMs)) / lengthMs
  const height = top + rows.length * rowHeight + 24
  const replicas = [...new Set(spans.map(({ replica }) => replica))].sort()
  return svgPage({
    ...{ width, height, title },
    description: `${spans.length} spans by ${replicas.join(' and ')}, ${Math.round(lengthMs)} ms from first to last.`,
    style: Object.entries(colours)
      .map(([name, colour]) => `\n    .${name} { fill: ${colour}; }`)
      .join(''),
    body: [
      text(title, { x: 20, y: 30, of: 'title' }),
      ...legendAt(20, 48),
      ...axis(lengthMs, height),
      ...rows.flatMap((row, i) => drawRow(row, top + i * rowHeight, scale)),
    ],
  })
}

function legendAt(x: number, y: number): string[] {
  return (Object.keys(legend) as Colour[]).flatMap((name, i) => [
    `<rect x="${x + i * 150}" y="${y}" width="11" height="11" rx="2" class="${name}"/>`,
    text(legend[name], { x: x + i * 150 + 17, y: y + 10, of: 'small' }),
  ])
}

function axis(lengthMs: number, height: number): string[] {
  return ticks(lengthMs, 6).flatMap(ms => {
    const x = left + (plotWidth * ms) / lengthMs
    return [
      `<path class="rule" d="M${at(x)} ${top - 6} V${height - 18}"/>`,
      text(`${ms} ms`, { x, y: top - 12, of: 'small middle' }),
    ]
  })
}

function drawRow({ span, depth }: Row, y: number, scale: (ms: number) => number): string[] {
  const [from, to] = [scale(span.startMs), scale(span.endMs)]
  const bar = Math.max(to - from, 2)
  const ms = span.endMs - span.startMs
  return [
    text(shortName(span.name), { x: 20 + depth * 14, y: y + 13 }),
    `<rect x="${at(from)}" y="${at(y + 3)}" width="${at(bar)}" height="12" rx="2" class="${colourOf(span)}"/>`,
    text(`${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`, { x: from + bar + 5, y: y + 13, of: 'small' }),
    text(span.replica, { x: width - 20, y: y + 13, of: 'small end' }),
  ]
}

/** A route without the common prefix. */
const shortName = (name: string) => name.replace(/ \/\S*(?=\/(?:labs|user-status)\b)/, ' …')

function colourOf({ kind, name, attributes }: ReceivedSpan): Colour {
  if (kind === 'server') return 'server'
  if (kind === 'client') return attributes['db.system.name'] === 'redis' ? 'redis' : 'kubernetes'
  return 'skylab.claim' in attributes
    ? 'step'
    : name === 'resolve image' || name === 'identify'
      ? 'server'
      : 'operation'
}
