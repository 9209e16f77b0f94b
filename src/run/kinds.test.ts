import { expect, test } from 'vitest'
import { emptyCensus } from '../../test/kit/telemetry/served-metrics.ts'
import { censusOf } from './kinds.ts'

const labs = { name: 'lab', census: async () => ({ ...emptyCensus, owned: 2 }) }
const toys = { name: 'toy', census: async () => ({ ...emptyCensus, waiting: 1 }) }

test('censusOf counts each kind by itself', async () => {
  const census = await censusOf([labs, toys])
  expect(census).toEqual({ lab: { ...emptyCensus, owned: 2 }, toy: { ...emptyCensus, waiting: 1 } })
})

test('censusOf returns nothing when the data of one kind are not compared', async () => {
  expect(await censusOf([labs, { ...toys, census: async () => undefined }])).toBeUndefined()
})
