/** Draws series over time, in rows of panels. */
import { at, svgPage, text, ticks } from './svg.ts'

export interface Series {
  readonly label: string
  /** Seconds since the beginning, and the value. */
  readonly points: readonly (readonly [seconds: number, value: number])[]
}

export interface Panel {
  readonly title: string
  readonly series: readonly Series[]
}

const [width, columns, panelHeight, top, gap] = [1040, 2, 190, 56, 20]
const panelWidth = (width - 2 * gap - (columns - 1) * gap) / columns
/** Margins of the plot in its panel. */
const inside = { left: 44, right: 14, top: 46, bottom: 24 }
const colours = ['#2f6db5', '#2e7d4f', '#d19a2a', '#b5443a', '#6b4fa0', '#2a8f96']

/** @param seconds time that the panels cover */
export function drawMetrics(title: string, panels: readonly Panel[], seconds: number): string {
  const rows = Math.ceil(panels.length / columns)
  return svgPage({
    ...{ width, height: top + rows * (panelHeight + gap), title },
    description: `Over ${Math.round(seconds)} seconds: ${panels.map(panel => panel.title).join('; ')}.`,
    style: '\n    .line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }',
    body: [
      text(title, { x: gap, y: 34, of: 'title' }),
      ...panels.flatMap((panel, i) => {
        const x = gap + (i % columns) * (panelWidth + gap)
        return drawPanel(panel, x, top + Math.floor(i / columns) * (panelHeight + gap), seconds)
      }),
    ],
  })
}

function drawPanel({ title, series }: Panel, x: number, y: number, seconds: number): string[] {
  const plot = {
    ...{ x: x + inside.left, y: y + inside.top },
    width: panelWidth - inside.left - inside.right,
    height: panelHeight - inside.top - inside.bottom,
  }
  const highest = Math.max(...series.flatMap(({ points }) => points.map(([, value]) => value)), 0) || 1
  const max = highest * 1.08
  const toX = (time: number) => plot.x + (plot.width * time) / seconds
  const toY = (value: number) => plot.y + plot.height * (1 - value / max)
  return [
    `<rect x="${at(x)}" y="${at(y)}" width="${at(panelWidth)}" height="${panelHeight}" rx="6" fill="#ffffff" stroke="#d5dae1"/>`,
    text(title, { x: x + 12, y: y + 19 }),
    ...ticks(max, 4).flatMap(value => [
      `<path class="rule" d="M${at(plot.x)} ${at(toY(value))} H${at(plot.x + plot.width)}"/>`,
      text(String(value), { x: plot.x - 6, y: toY(value) + 4, of: 'small end' }),
    ]),
    ...ticks(seconds, 6).map(time =>
      text(`${time} s`, { x: toX(time), y: plot.y + plot.height + 16, of: 'small middle' }),
    ),
    ...series.flatMap(({ label, points }, i) => {
      const colour = colours[i % colours.length]!
      const path = points.map(([time, value], j) => `${j === 0 ? 'M' : 'L'}${at(toX(time))} ${at(toY(value))}`).join('')
      const labelX = x + 12 + i * ((panelWidth - 24) / Math.max(series.length, 4))
      return [
        `<path class="line" stroke="${colour}" d="${path}"/>`,
        `<rect x="${at(labelX)}" y="${at(y + 27)}" width="9" height="9" rx="2" fill="${colour}"/>`,
        text(label, { x: labelX + 13, y: y + 35, of: 'small' }),
      ]
    }),
  ]
}
