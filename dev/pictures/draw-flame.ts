/** Draws a flame graph: callers below, the wider the more processor time, with the names of the widest frames. */
import type { Frame } from './flame-tree.ts'
import { at, escapeText, svgPage, text } from './svg.ts'

export interface FlameOptions {
  readonly title: string
  /** What the milliseconds are of, for screen readers. */
  readonly description: string
  /** Processor time that takes the whole width: one for pictures that are compared. Default: all of the tree's. */
  readonly fullMs?: number
}

const [width, margin, top, bottom, rowHeight] = [1200, 20, 76, 24, 17]
const fullWidth = width - 2 * margin
/** Frames narrower than this are left out, in pixels. */
const minWidth = 2
const letterWidth = 6
const minLetters = 4

/** Colours by room of the source; dark text is readable on all of them. */
const colours = {
  ops: ['#f0a860', 'src/ops'],
  store: ['#ee8f7c', 'src/store, src/leases'],
  kube: ['#8cc0ea', 'src/kube'],
  api: ['#97cf93', 'src/api, src/identity'],
  telemetry: ['#cfb0e6', 'src/telemetry'],
  rest: ['#ecd58a', 'other rooms'],
  packages: ['#b9c7d6', 'packages'],
  node: ['#d8dde3', 'Node'],
  native: ['#bcbcbc', 'V8, native code'],
} as const
type Kind = keyof typeof colours

export function kindOf({ place }: Pick<Frame, 'place'>): Kind {
  if (place === 'native' || place === 'all') return 'native'
  if (place.startsWith('node:')) return 'node'
  const room = /^src\/([^/]+)\//.exec(place)?.[1]
  if (room === undefined) return place.endsWith('.ts') ? 'rest' : 'packages'
  if (room === 'leases') return 'store'
  if (room === 'identity') return 'api'
  return Object.hasOwn(colours, room) ? (room as Kind) : 'rest'
}

interface Box {
  readonly frame: Frame
  readonly depth: number
  readonly x: number
  readonly width: number
}

export function drawFlame(root: Frame, { title, description, fullMs = root.totalMs }: FlameOptions): string {
  const boxes = boxesOf(root, fullWidth / fullMs)
  const height = top + bottom + (1 + Math.max(...boxes.map(({ depth }) => depth))) * rowHeight
  return svgPage({
    ...{ width, height, title, description },
    style: Object.entries(colours)
      .map(([name, [colour]]) => `\n    .${name} { fill: ${colour}; }`)
      .concat('\n    .frame { font-size: 11px; }')
      .join(''),
    body: [
      text(title, { x: margin, y: 30, of: 'title' }),
      ...legend(),
      ...boxes.flatMap(box => drawBox(box, height - bottom - (box.depth + 1) * rowHeight)),
    ],
  })
}

function legend(): string[] {
  let x = margin
  return Object.entries(colours).flatMap(([name, [, words]]) => {
    const drawn = [
      `<rect x="${x}" y="45" width="11" height="11" rx="2" class="${name}"/>`,
      text(words, { x: x + 16, y: 54, of: 'small' }),
    ]
    x += 44 + words.length * letterWidth
    return drawn
  })
}

/** Children are side by side above their caller, the widest first. */
export function boxesOf(root: Frame, pixelsPerMs: number): Box[] {
  const boxes: Box[] = []
  const add = (frame: Frame, depth: number, x: number): void => {
    const boxWidth = frame.totalMs * pixelsPerMs
    if (boxWidth < minWidth) return
    boxes.push({ frame, depth, x, width: boxWidth })
    let left = x
    for (const child of [...frame.children.values()].sort((a, b) => b.totalMs - a.totalMs)) {
      add(child, depth + 1, left)
      left += child.totalMs * pixelsPerMs
    }
  }
  add(root, 0, margin)
  return boxes
}

/** A browser shows the title of a frame that the pointer is on. */
function drawBox({ frame, x, width: boxWidth }: Box, y: number): string[] {
  const words = nameOf(frame)
  const letters = Math.floor((boxWidth - 6) / letterWidth)
  const label = words.length <= letters ? words : `${words.slice(0, Math.max(0, letters - 1))}…`
  const rect = `<rect x="${at(x)}" y="${at(y)}" width="${at(Math.max(boxWidth - 0.5, 1))}" height="${rowHeight - 1}" rx="1.5" class="${kindOf(frame)}">`
  const drawn = `${rect}<title>${escapeText(`${words}: ${frame.totalMs.toFixed(2)} ms`)}</title></rect>`
  return letters < minLetters ? [drawn] : [drawn, text(label, { x: x + 3, y: y + 12, of: 'frame' })]
}

const nameOf = ({ name, place, totalMs }: Frame): string => {
  if (place === 'all') return `${name}: ${totalMs.toFixed(1)} ms`
  if (place === 'native') return name
  return [name, place.replace(/^src\//, '')].filter(Boolean).join(' · ')
}
