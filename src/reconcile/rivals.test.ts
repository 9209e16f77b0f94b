import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Rivals } from './rivals.ts'

const options = { times: 4, withinMs: 60_000, pauseMs: 30_000 }

function found(rivals: Rivals, times: number, fromMs = 0, stepMs = 1): void {
  for (let i = 0; i < times; i += 1) rivals.found('wish', `version ${fromMs} ${i}`, fromMs + i * stepMs)
}

describe('Rivals', () => {
  test('pause after four changes of others within a minute', () => {
    const rivals = new Rivals(options)
    rivals.reached('wish')
    found(rivals, 3)
    expect(rivals.isPaused('wish', 3)).toBe(false)
    found(rivals, 1, 10)
    expect([rivals.isPaused('wish', 11), rivals.leftMs(10)]).toEqual([true, 30_000])
    expect(rivals.isPaused('wish', 30_010)).toBe(false)
  })

  test('pause again at the next change after a pause', () => {
    const rivals = new Rivals(options)
    rivals.reached('wish')
    found(rivals, 4)
    rivals.found('wish', 'once more', 30_003)
    expect(rivals.isPaused('wish', 30_004)).toBe(true)
  })

  test('end when nothing was changed for two minutes', () => {
    const rivals = new Rivals(options)
    rivals.reached('wish')
    found(rivals, 4)
    expect([rivals.leftMs(3), rivals.leftMs(30_003), rivals.leftMs(120_003)]).toEqual([30_000, 90_000, 0])
    expect([119_000, 120_003].map(ms => rivals.isContended('wish', ms))).toEqual([true, false])
  })

  test('are suspected without a pause, and pause at the next change', () => {
    const rivals = new Rivals(options)
    rivals.reached('wish')
    rivals.suspect('another', 0)
    expect(rivals.isContended('wish', 1)).toBe(false)
    rivals.suspect('wish', 0)
    expect([rivals.isContended('wish', 1), rivals.isPaused('wish', 1)]).toEqual([true, false])
    rivals.found('wish', 'changed', 2)
    expect(rivals.isPaused('wish', 3)).toBe(true)
  })

  test('do not pause for rare changes', () => {
    const rivals = new Rivals(options)
    rivals.reached('wish')
    found(rivals, 20, 0, 20_000)
    expect(rivals.leftMs(400_000)).toBe(0)
  })

  test('count nothing before a wish was reached, and one sight once', () => {
    const rivals = new Rivals(options)
    found(rivals, 10)
    rivals.reached('wish')
    for (let i = 0; i < 10; i += 1) rivals.found('wish', 'the same', i)
    expect(rivals.isPaused('wish', 10)).toBe(false)
  })

  test('begin anew with another wish', () => {
    const rivals = new Rivals(options)
    rivals.reached('wish')
    found(rivals, 4)
    expect(rivals.isPaused('another', 4)).toBe(false)
    rivals.reached('another')
    rivals.reached('wish')
    expect([rivals.isPaused('wish', 4), rivals.leftMs(4)]).toEqual([false, 0])
  })

  test('let at most four changes and one for each half minute be answered', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 5_000 }), { maxLength: 200 }), steps => {
        const rivals = new Rivals(options)
        rivals.reached('wish')
        let nowMs = 0
        let answered = 0
        for (const [i, ms] of steps.entries()) {
          nowMs += ms
          rivals.found('wish', `version ${i}`, nowMs)
          if (!rivals.isPaused('wish', nowMs)) answered += 1
        }
        expect(answered).toBeLessThanOrEqual(3 + 3 * Math.ceil(nowMs / options.pauseMs))
      }),
    )
  })
})
