import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { RetryLater } from '../base/errors.ts'
import type { CloudCall, Driver } from '../clouds/driver.ts'
import { CloudRefused, RateLimited, Unanswered } from '../clouds/errors.ts'
import { Cloud } from './cloud.ts'

function cloudOf(driver: Partial<Driver> = {}) {
  const clock = new ManualClock()
  const counted: string[] = []
  const cloud = new Cloud({
    ...{ driver: driver as Driver, clock, listMs: 2_000, reserve: async () => 0 },
    onCall: (operation, error) => void counted.push(error === undefined ? operation : `${operation}: ${error}`),
  })
  return { cloud, clock, counted }
}

const call: CloudCall = { signal: new AbortController().signal, agent: 'a' }
const failing = (error: Error) => async () => {
  throw error
}

describe('Cloud', () => {
  it('makes a later attempt of what passes, at the time that the cloud wants by the clock that it was given', async () => {
    const { cloud, clock, counted } = cloudOf()
    const limited = new RateLimited('slower', clock.wallMs() + 7_000)
    const error = await cloud.ask('find', call, failing(limited)).catch(thrown => thrown)
    expect(error).toBeInstanceOf(RetryLater)
    expect(error.afterMs).toBe(7_000)
    await expect(cloud.ask('find', call, failing(new Unanswered('no answer')))).rejects.toThrow(RetryLater)
    await expect(cloud.ask('find', call, failing(new CloudRefused('no')))).rejects.toThrow(CloudRefused)
    expect(counted).toEqual(['find: RateLimited', 'find: Unanswered', 'find: CloudRefused'])
  })

  it('lists once for all who ask meanwhile, and again only after a while', async () => {
    let lists = 0
    const { cloud, clock } = cloudOf({
      list: async () => {
        lists += 1
        return []
      },
    })
    await Promise.all([cloud.list(call), cloud.list(call)])
    expect(lists).toBe(1)
    const next = cloud.list(call)
    expect(await clock.sleepBetween(1, 2_000)).toBe(2_000)
    expect(lists).toBe(1)
    clock.advance(2_000)
    await next
    expect(lists).toBe(2)
  })

  it('ends the wait of one who stops, and not that of the others', async () => {
    const listed = Promise.withResolvers<readonly never[]>()
    const { cloud } = cloudOf({ list: () => listed.promise })
    const stopped = new AbortController()
    const [one, other] = [cloud.list({ ...call, signal: stopped.signal }), cloud.list(call)]
    const outcome = expect(one).rejects.toThrow('stopped')
    stopped.abort(new Error('stopped'))
    await outcome
    listed.resolve([])
    expect(await other).toEqual([])
  })
})
