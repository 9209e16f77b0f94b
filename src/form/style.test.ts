import { describe, expect, it } from 'vitest'
import { contrast } from './color.ts'
import { palettes, rootClass, styleSheet } from './style.ts'

/** Selectors of all rules except those that only contain others. */
const selectors = (sheet: string) => [...sheet.matchAll(/([^{}]+)\{[^{}]*\}/g)].flatMap(([, text]) => text!.split(','))

describe('styleSheet', () => {
  it('has no selector outside the form', () => {
    const all = selectors(styleSheet({ accentColor: '#1f5f8b', dark: 'auto' }))
    expect(all.length).toBeGreaterThan(15)
    expect(all.filter(selector => !selector.trim().startsWith(`.${rootClass}`))).toEqual([])
  })

  it('contains the configured colour, and readable colours on it', () => {
    const blue = styleSheet({ accentColor: '#1f5f8b', dark: 'never' })
    expect(blue).toContain('--skylab-accent:#1f5f8b;--skylab-on-accent:#ffffff;--skylab-mark:#1f5f8b')
    const yellow = styleSheet({ accentColor: '#ffcc00', dark: 'never' })
    expect(yellow).toContain('--skylab-accent:#ffcc00;--skylab-on-accent:#000000')
    expect(yellow).not.toContain('--skylab-mark:#ffcc00')
  })

  it('is dark only when configured', () => {
    expect(styleSheet({ accentColor: '#1f5f8b', dark: 'auto' })).toContain('@media (prefers-color-scheme:dark)')
    expect(styleSheet({ accentColor: '#1f5f8b', dark: 'never' })).not.toMatch(/@media|color-scheme:dark/)
  })

  it('names no other host, and no side of a page', () => {
    const sheet = styleSheet({ accentColor: '#1f5f8b', dark: 'auto' })
    expect(sheet).not.toMatch(/url|@import|\/\//)
    expect(sheet).not.toMatch(/\b(left|right)\b/)
  })
})

describe.each(palettes)('the $scheme palette', ({ background, text, muted, line }) => {
  it('has readable colours', () => {
    expect(contrast(text, background)).toBeGreaterThanOrEqual(7)
    expect(contrast(muted, background)).toBeGreaterThanOrEqual(4.5)
    expect(contrast(line, background)).toBeGreaterThanOrEqual(3)
  })
})
