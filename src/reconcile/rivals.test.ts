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

  test('let one change be answered after a pause, and pause at the next one', () => {
    const rivals = new Rivals(options)
    rivals.reached('wish')
    found(rivals, 4)
    rivals.found('wish', 'once more', 30_003)
    expect(rivals.isPaused('wish', 30_004)).toBe(false)
    rivals.answered('wish')
    rivals.found('wish', 'once more', 30_005)
    expect(rivals.isPaused('wish', 30_006)).toBe(true)
  })

  test('let a change of the pause be answered once', () => {
    const rivals = new Rivals(options)
    rivals.reached('wish')
    found(rivals, 4)
    rivals.found('wish', 'version 0 3', 30_003)
    expect(rivals.isPaused('wish', 30_003)).toBe(false)
    rivals.answered('wish')
    rivals.found('wish', 'next', 30_004)
    expect(rivals.isPaused('wish', 30_005)).toBe(true)
  })

  test('count the same sight again when it was answered, or when all was as wished meanwhile', () => {
    for (const over of ['answered', 'reached'] as const) {
      const rivals = new Rivals(options)
      rivals.reached('wish')
      for (let i = 0; i < 4; i += 1) {
        rivals.found('wish', 'absent', i)
        rivals[over]('wish')
      }
      expect(rivals.isPaused('wish', 4)).toBe(true)
    }
  })

  test('end when nothing was changed for two minutes', () => {
    const rivals = new Rivals(options)
    rivals.reached('wish')
    found(rivals, 4)
    expect([rivals.leftMs(3), rivals.leftMs(30_003), rivals.leftMs(120_003)]).toEqual([30_000, 90_000, 0])
    expect([119_000, 120_003].map(ms => rivals.isContended('wish', ms))).toEqual([true, false])
    expect([60_002, 60_003, 120_003].map(ms => rivals.isSuspected('wish', ms))).toEqual([false, true, false])
  })

  test('are suspected without a pause, and pause at the next change', () => {
    const rivals = new Rivals(options)
    rivals.reached('wish')
    rivals.suspect('another', 0)
    expect(rivals.isContended('wish', 1)).toBe(false)
    rivals.suspect('wish', 0)
    expect([rivals.isContended('wish', 1), rivals.isPaused('wish', 1)]).toEqual([true, false])
    expect([rivals.isSuspected('wish', 1), rivals.leftMs(1)]).toEqual([true, 119_999])
    rivals.found('wish', 'changed', 2)
    expect([rivals.isPaused('wish', 3), rivals.isSuspected('wish', 3)]).toEqual([true, false])
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
          if (rivals.isPaused('wish', nowMs)) continue
          rivals.answered('wish')
          answered += 1
        }
        expect(answered).toBeLessThanOrEqual(3 + 3 * Math.ceil(nowMs / options.pauseMs))
      }),
    )
  })

  test('let at least one change be answered after each pause, whatever is found in it', () => {
    const steps = fc.array(fc.record({ ms: fc.integer({ min: 1, max: 30_000 }), isAnswered: fc.boolean() }))
    fc.assert(
      fc.property(steps, list => {
        const rivals = new Rivals(options)
        rivals.reached('wish')
        let [nowMs, wasPaused] = [0, false]
        for (const [i, { ms, isAnswered }] of list.entries()) {
          nowMs += ms
          const isOver = wasPaused && !rivals.isPaused('wish', nowMs)
          rivals.found('wish', `version ${i}`, nowMs)
          if (isOver) expect(rivals.isPaused('wish', nowMs)).toBe(false)
          wasPaused = rivals.isPaused('wish', nowMs)
          if (!wasPaused && isAnswered) rivals.answered('wish')
        }
      }),
    )
  })
})
