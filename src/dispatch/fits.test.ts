import { describe, expect, test } from 'vitest'
import { fitOf } from './fits.ts'
import { gib, needOf, someRules, typeOf } from './testing/world.ts'
import type { MachineType, Need } from './types.ts'

const names = (need: Need, types: readonly MachineType[], factor = 100) => {
  const fit = fitOf(need, types, { ...someRules, maximumPriceFactor: factor })
  return 'none' in fit ? fit.none : fit.types.map(({ name }) => name)
}

describe('fitOf', () => {
  test('orders by price, then by the larger one, then by name', () => {
    const roomy = { ramBytes: 32 * gib }
    const types = [typeOf('c', 2, 3), typeOf('b', 2, 2), typeOf('a', 2, 2), typeOf('roomy', 2, 2, roomy)]
    expect(names(needOf(1), types)).toEqual(['roomy', 'a', 'b', 'c'])
  })

  test('offers dearer types only up to the price factor', () => {
    const types = [typeOf('cheap', 1, 2), typeOf('more', 2, 3), typeOf('dear', 4, 3.01)]
    expect(names(needOf(1), types, 1.5)).toEqual(['cheap', 'more'])
    expect(names(needOf(1), types, 0)).toEqual(['cheap'])
  })

  test('counts 95 % of the memory, beside what every machine needs for itself', () => {
    const need = needOf(1, { ramBytes: 95 * gib - someRules.reserveExtraRamBytes })
    expect(names(need, [typeOf('t', 1, 1, { ramBytes: 100 * gib })])).toEqual(['t'])
    expect(names(need, [typeOf('t', 1, 1, { ramBytes: 100 * gib - 1 })])).toMatch(/No type/)
  })

  test('names every type and all that it lacks when none fits', () => {
    const need = needOf(2, { gpus: 1, scratchBytes: 60 * gib, ramBytes: 4 * gib, preemptible: true })
    const types = [typeOf('small', 1, 1), typeOf('spot', 2, 1, { preemptible: true })]
    expect(names(need, types)).toBe(
      'No type of machine fits. small: 1 of 2 VCPUs, 4096 of 4891 MiB of memory, ' +
        '51200 of 61440 MiB of scratch space, 0 of 1 GPUs, is not preemptible; spot: 0 of 1 GPUs',
    )
    expect(names(needOf(1), [typeOf('spot', 2, 1, { preemptible: true })])).toMatch(/spot: is preemptible/)
    expect(names(need, [])).toBe('No type of machine is configured')
  })
})
