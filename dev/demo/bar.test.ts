import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LabEvent } from '../../src/base/domain.ts'
import { EventBar, renderBar } from './bar.ts'

describe('renderBar', () => {
  it('fills the bar as the percentage grows', () => {
    expect(renderBar(0, 'begun', 80)).toBe(`  ${'░'.repeat(24)}   0 % begun`)
    expect(renderBar(50, 'half', 80)).toBe(`  ${'█'.repeat(12)}${'░'.repeat(12)}  50 % half`)
    expect(renderBar(100, 'done', 80)).toBe(`  ${'█'.repeat(24)} 100 % done`)
  })

  it('keeps to one line of the terminal when the text is long or has line breaks', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -5, max: 200 }),
        fc.string(),
        fc.integer({ min: 40, max: 200 }),
        (percent, words, columns) => {
          const line = renderBar(percent, words, columns)
          expect(line.length).toBeLessThan(columns)
          expect(line).not.toMatch(/[\r\n]/)
        },
      ),
    )
  })
})

describe('EventBar', () => {
  const events: LabEvent[] = [
    { event: 'info', data: 'begun' },
    { event: 'progress', data: '50' },
    { event: 'error', data: 'slow registry' },
    { event: 'info', data: `pod starts ${'x'.repeat(100)}` },
  ]

  const complete: LabEvent = { event: 'complete', data: 'lab is ready' }

  function show(isTTY: boolean, last: LabEvent, columns = 100): string {
    let text = ''
    const bar = new EventBar({ isTTY, columns, write: part => (text += part) })
    for (const event of [...events, last]) bar.show(event)
    return text
  }

  it('prints a line for each message when there is no terminal', () => {
    const lines = show(false, complete).trimEnd().split('\n')
    expect(lines.map(line => line.replace(/^ *[█░]+ +/, ''))).toEqual([
      '0 % begun',
      '  ! slow registry',
      `50 % pod starts ${'x'.repeat(100)}`,
      '100 % lab is ready',
    ])
  })

  it('redraws one line on a terminal, and keeps errors and the end on lines of their own', () => {
    const text = show(true, { event: 'failed', data: 'no image' })
    const kept = text.split('\n').map(line => line.split('\r\x1b[K').at(-1))
    expect(kept).toEqual(['  ! slow registry', '  failed: no image', ''])
  })

  it('takes a terminal without a size for one of 80 columns', () => {
    const lines = show(true, complete, 0).split(/[\r\n]+(?:\x1b\[K)?/)
    expect(Math.max(...lines.map(line => line.length))).toBe(79)
  })
})
