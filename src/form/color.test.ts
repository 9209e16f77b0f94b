import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { contrast, readableOn, readableRatio, textOn } from './color.ts'

const color = fc.integer({ min: 0, max: 0xffffff }).map(value => `#${value.toString(16).padStart(6, '0')}`)

describe('contrast', () => {
  it.each([
    ['#000000', '#ffffff', 21],
    ['#ffffff', '#000000', 21],
    ['#777777', '#777777', 1],
    ['#777777', '#ffffff', 4.48],
    ['#0000ff', '#ffffff', 8.59],
  ])('of %s and %s is %d', (one, other, ratio) => {
    expect(contrast(one, other)).toBeCloseTo(ratio, 2)
  })
})

describe('textOn', () => {
  it.each([
    ['#1f5f8b', '#ffffff'],
    ['#ffcc00', '#000000'],
    ['#000000', '#ffffff'],
    ['#ffffff', '#000000'],
  ])('%s returns %s', (background, text) => {
    expect(textOn(background)).toBe(text)
  })

  it('returns a readable colour on any background', () => {
    fc.assert(
      fc.property(color, background => {
        expect(contrast(textOn(background), background)).toBeGreaterThanOrEqual(readableRatio)
      }),
    )
  })
})

describe('readableOn', () => {
  it('returns the colour itself when that is readable', () => {
    expect(readableOn('#ffffff', '#1f5f8b')).toBe('#1f5f8b')
    expect(readableOn('#1c1f24', '#ffcc00')).toBe('#ffcc00')
  })

  it('returns a darker shade on light, and a lighter one on dark', () => {
    expect(contrast(readableOn('#ffffff', '#ffcc00'), '#000000')).toBeLessThan(contrast('#ffcc00', '#000000'))
    expect(contrast(readableOn('#1c1f24', '#1f5f8b'), '#ffffff')).toBeLessThan(contrast('#1f5f8b', '#ffffff'))
  })

  it('returns a readable colour on any background', () => {
    fc.assert(
      fc.property(color, color, (background, accent) => {
        const shade = readableOn(background, accent)
        expect(shade).toMatch(/^#[0-9a-f]{6}$/)
        expect(contrast(shade, background)).toBeGreaterThanOrEqual(readableRatio)
      }),
    )
  })
})
