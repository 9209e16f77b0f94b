import { describe, expect, onTestFinished, test } from 'vitest'
import { emptyCensus } from '../../test/kit/telemetry/served-metrics.ts'
import { Slots } from '../base/slots.ts'
import type { Basics } from './basics.ts'
import type { KindParts } from './kind.ts'
import { addKind, censusOf, joinKinds, type KindShared, kindNames, usesOf } from './kinds.ts'

const counting = (name: string, census: KindParts['operations']['census']) => ({ name, operations: { census } })
const labs = counting('lab', async () => ({ ...emptyCensus, owned: 2 }))

describe('censusOf', () => {
  test('counts each kind by itself', async () => {
    const census = await censusOf([labs, counting('toy', async () => ({ ...emptyCensus, waiting: 1 }))])
    expect(census).toEqual({ lab: { ...emptyCensus, owned: 2 }, toy: { ...emptyCensus, waiting: 1 } })
  })

  test.each([
    ['is not compared yet', async () => undefined],
    ['cannot be counted', () => Promise.reject(new Error('no answer'))],
  ])('leaves out a kind that %s, and counts the others', async (_, census) => {
    expect(await censusOf([labs, counting('toy', census)])).toEqual({ lab: { ...emptyCensus, owned: 2 } })
  })
})

describe('usesOf', () => {
  test('counts the places of a room once when two kinds share it', () => {
    const [shared, own] = [new Slots(24), new Slots(8)]
    shared.tryEnter()
    const kinds = [
      { name: 'lab', engine: { size: 30 }, room: shared },
      { name: 'toy', engine: { size: 2 }, room: shared },
      { name: 'other', engine: { size: 1 }, room: own },
    ]
    expect(usesOf(kinds)).toEqual({
      lab: { owned: 30, places: 24, free: 23 },
      toy: { owned: 2 },
      other: { owned: 1, places: 8, free: 8 },
    })
  })
})

describe('addKind', () => {
  const shared = {} as KindShared
  const basics = {} as Basics

  const adding = (name: string, made?: Pick<KindParts, 'name'>) => {
    onTestFinished(addKind({ name, make: () => made as KindParts | undefined }))
  }

  test.each(['lab', 'toy'])('refuses the name %s when there is a kind of this name', name => {
    adding('toy')
    expect(kindNames()).toEqual(['lab', 'toy'])
    expect(() => addKind({ name, make: () => undefined })).toThrow(`there is a kind ${name} already`)
  })

  test('leaves out a kind that declines', () => {
    adding('toy')
    adding('other', { name: 'other' })
    expect(joinKinds(basics, shared)).toEqual([{ name: 'other' }])
  })

  test('refuses a kind whose name is not that of its maker', () => {
    adding('toy', { name: 'other' })
    expect(() => joinKinds(basics, shared)).toThrow('the maker of toy made the kind other')
  })
})
