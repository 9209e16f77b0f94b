/**
 * The style of the form: rules that do not affect the page around it, with the configured colours as custom properties.
 * Pure.
 */
import type { Config } from '../config/schema.ts'
import { type Color, readableOn, textOn } from './color.ts'

/** Class of the form's outer element, with which every selector begins. */
export const rootClass = 'skylab-form'

interface Palette {
  readonly scheme: 'light' | 'dark'
  readonly background: Color
  readonly text: Color
  readonly muted: Color
  /** For borders: at least 3:1 to the background. */
  readonly line: Color
}

const light: Palette = {
  scheme: 'light',
  background: '#ffffff',
  text: '#1b1b1b',
  muted: '#595959',
  line: '#767676',
}
const dark: Palette = { scheme: 'dark', background: '#1c1f24', text: '#f0f0f0', muted: '#b4b8bf', line: '#8a8f98' }

/** Palettes, for a test of their contrast. */
export const palettes = [light, dark] as const

/** The form's style sheet. It has its own colours and background, since the page around it may have any colour. */
export function styleSheet({ accentColor, dark: when }: Pick<Config['form'], 'accentColor' | 'dark'>): string {
  const inDark = `@media (prefers-color-scheme:dark){${properties(dark, accentColor)}}`
  return `${properties(light, accentColor)}${when === 'auto' ? inDark : ''}${rules}`
}

function properties({ scheme, background, text, muted, line }: Palette, accent: Color): string {
  const values = {
    'color-scheme': scheme,
    '--skylab-background': background,
    '--skylab-text': text,
    '--skylab-muted': muted,
    '--skylab-line': line,
    '--skylab-accent': accent,
    '--skylab-on-accent': textOn(accent),
    // Links, selected choices and the focus must be visible on the background, whatever the accent is.
    '--skylab-mark': readableOn(background, accent),
  }
  const declarations = Object.entries(values).map(([name, value]) => `${name}:${value}`)
  return `.${rootClass}{${declarations.join(';')}}`
}

/** Without left and right, so that it works in pages of either direction. */
const rules = `
.skylab-form,.skylab-form *{box-sizing:border-box}
.skylab-form{max-inline-size:48rem;margin-inline:auto;padding:1rem;line-height:1.5;text-align:start;overflow-wrap:anywhere;color:var(--skylab-text);background:var(--skylab-background)}
.skylab-form h2{margin:0 0 .5rem;font-size:1.5rem;line-height:1.25;color:inherit}
.skylab-form p{margin:0 0 .75rem}
.skylab-form a{color:var(--skylab-mark);text-decoration:underline}
.skylab-form fieldset{margin:0 0 1rem;padding:.25rem .75rem .75rem;border:1px solid var(--skylab-line);border-radius:.5rem}
.skylab-form legend{float:none;inline-size:auto;margin:0;padding:0 .375rem;border:0;font-size:1.125rem;font-weight:600;color:inherit}
.skylab-form label{display:flex;gap:.625rem;align-items:flex-start;margin:0;padding:.5rem;border-radius:.375rem;font-weight:400;color:inherit;cursor:pointer}
.skylab-form label>span{flex:1}
.skylab-form label:has(>input:checked){box-shadow:inset 0 0 0 2px var(--skylab-mark)}
.skylab-form input{flex:none;inline-size:1.25rem;block-size:1.25rem;margin:.125rem 0 0;accent-color:var(--skylab-mark)}
.skylab-form small{display:block;font-size:.875rem;color:var(--skylab-muted)}
.skylab-form strong{display:inline-block;margin-inline-start:.25rem;padding:0 .5rem;border:1px solid transparent;border-radius:1rem;font-size:.8125rem;font-weight:600;color:var(--skylab-on-accent);background:var(--skylab-accent)}
.skylab-form .skylab-menu{display:block;padding-inline-start:2.375rem;cursor:auto}
.skylab-form select{display:block;inline-size:100%;min-block-size:2.75rem;margin-block-start:.25rem;padding:.375rem .5rem;border:1px solid var(--skylab-line);border-radius:.375rem;font:inherit;color:var(--skylab-text);background-color:var(--skylab-background)}
.skylab-form :focus-visible{outline:3px solid var(--skylab-mark);outline-offset:2px}
`
