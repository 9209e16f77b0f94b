/** Tools for drawing the pictures in docs/. */

/** Text escaped for SVG. */
export const escapeText = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** Coordinates to a tenth of a pixel. */
export const at = (value: number) => String(Math.round(value * 10) / 10)

export interface Page {
  readonly width: number
  readonly height: number
  readonly title: string
  /** Description for screen readers. */
  readonly description: string
  /** CSS rules beside the common ones. */
  readonly style: string
  readonly body: readonly string[]
}

const style = `
    text { font-family: system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; font-size: 12px; fill: #1f2733; }
    .title { font-weight: 600; font-size: 15px; }
    .small { font-size: 11px; fill: #4a5565; }
    .end { text-anchor: end; }
    .middle { text-anchor: middle; }
    .rule { stroke: #d5dae1; }`

/** A whole picture. */
export function svgPage({ width, height, title, description, style: more, body }: Page): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title desc">
  <title id="title">${escapeText(title)}</title>
  <desc id="desc">${escapeText(description)}</desc>
  <style>${style}${more}
  </style>
  <rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="10" fill="#f7f8fa" stroke="#c9d0d9"/>
${body.map(line => `  ${line}`).join('\n')}
</svg>
`
}

export interface TextPlace {
  readonly x: number
  readonly y: number
  /** Classes of the style. */
  readonly of?: string
}

export const text = (words: string, { x, y, of = '' }: TextPlace) =>
  `<text x="${at(x)}" y="${at(y)}"${of && ` class="${of}"`}>${escapeText(words)}</text>`

/** Round numbers from 0 to `max`, about `count` of them. */
export function ticks(max: number, count: number): number[] {
  const rough = max / count
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map(factor => factor * power).find(candidate => candidate >= rough)!
  return Array.from({ length: Math.floor(max / step + 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(12)))
}
