/** Readable colours, by the formulas of WCAG 2.2 ("relative luminance", "contrast ratio"). Pure. */

/** `#rrggbb` */
export type Color = string

type Rgb = readonly [red: number, green: number, blue: number]

const black: Color = '#000000'
const white: Color = '#ffffff'

/** Minimum contrast of text to its background, at level AA. */
export const readableRatio = 4.5

/** Number of shades tried between a colour and black or white. */
const shades = 20

/** From 1, the same, to 21, black on white. */
export function contrast(one: Color, other: Color): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

/** Black or white, whichever is more readable on the colour: one of them always has a ratio of at least 4.5. */
export function textOn(background: Color): Color {
  return contrast(black, background) >= contrast(white, background) ? black : white
}

/** The colour itself, or its first shade that is readable on the background. */
export function readableOn(background: Color, color: Color): Color {
  const goal = textOn(background)
  for (let step = 0; step < shades; step++) {
    const shade = mixed(color, goal, step / shades)
    if (contrast(shade, background) >= readableRatio) return shade
  }
  return goal
}

function mixed(from: Color, to: Color, share: number): Color {
  const [a, b] = [rgbOf(from), rgbOf(to)]
  const hex = a.map((value, i) =>
    Math.round(value + (b[i]! - value) * share)
      .toString(16)
      .padStart(2, '0'),
  )
  return `#${hex.join('')}`
}

function luminance(color: Color): number {
  const [red, green, blue] = rgbOf(color).map(linear) as unknown as Rgb
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** A channel as light, without the curve of sRGB. */
function linear(channel: number): number {
  const share = channel / 255
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
}

function rgbOf(color: Color): Rgb {
  const value = Number.parseInt(color.slice(1), 16)
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255]
}
