import { describe, expect, test } from 'vitest'
import { StatusPace } from './status-pace.ts'

const options = { withinMs: 240_000, pauseMs: 30_000 }

/** Others replace the status this many times, and it is written again each time. */
function replaced(pace: StatusPace, times: number, stepMs = 10): boolean[] {
  return Array.from({ length: times }, (_, i) => {
    const isDoubtful = pace.found('Ready', i * stepMs)
    pace.wrote('Ready', i * stepMs)
    return isDoubtful
  })
}

function written(): StatusPace {
  const pace = new StatusPace(options)
  pace.wrote('Ready', 0)
  return pace
}

describe('StatusPace', () => {
  test('doubts a status that others have replaced three times', () => {
    expect(replaced(written(), 4)).toEqual([false, false, true, true])
  })

  test('doubts nothing that others replace rarely', () => {
    expect(replaced(written(), 10, 120_000).every(isDoubtful => !isDoubtful)).toBe(true)
  })

  test('counts one replacement once, and none before the status was written', () => {
    const pace = new StatusPace(options)
    expect(replaced(pace, 1)).toEqual([false])
    pace.found('Ready', 0)
    pace.wrote('Ready', 0)
    for (let i = 0; i < 5; i += 1) expect(pace.found('Ready', i)).toBe(false)
  })

  test('spaces the writes after four replacements', () => {
    const pace = written()
    replaced(pace, 3)
    expect(pace.leftMs('Ready', 30)).toBe(0)
    pace.found('Ready', 40)
    pace.wrote('Ready', 40)
    expect([pace.leftMs('Ready', 50), pace.leftMs('Ready', 30_040)]).toEqual([29_990, 0])
  })

  test('begins anew with another text', () => {
    const pace = written()
    replaced(pace, 4)
    expect(pace.leftMs('Failed', 50)).toBe(0)
    pace.wrote('Failed', 50)
    pace.wrote('Ready', 60)
    expect([pace.leftMs('Ready', 60), pace.found('Ready', 70)]).toEqual([0, false])
  })
})
