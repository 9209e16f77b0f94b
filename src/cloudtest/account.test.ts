import { describe, expect, it, vi } from 'vitest'
import type { Clock } from '../base/clock.ts'
import type { Driver, Intent } from '../clouds/driver.ts'
import { CloudRefused, RateLimited, Unanswered } from '../clouds/errors.ts'
import { FakeCloud } from '../clouds/testing/fake-driver.ts'
import { Cloud } from '../machines/cloud.ts'
import { Account } from './account.ts'
import { Steps } from './steps.ts'

const set = 'cloudtest-set'
const intent: Intent = {
  ...{ token: 'one', providerType: 't.small', image: '', initCommand: 'true', publicKey: 'ssh-ed25519 AAAA' },
  ...{ tags: { InstanceSetID: set, Intent: 'one' }, addedScratchBytes: 0, preemptible: false },
}
const { signal } = new AbortController()
const soonMs = 60_000

/** Its waits take no time. */
class QuickClock implements Clock {
  #nowMs = 0
  readonly wallMs = () => this.#nowMs
  readonly monotonicMs = () => this.#nowMs
  readonly after = () => () => {}
  readonly sleep = async (ms: number, by?: AbortSignal) => {
    by?.throwIfAborted()
    this.#nowMs += ms
  }
}

function site({ honoursTokens = true, lagMs = 0 } = {}) {
  const clock = new QuickClock()
  const fake = new FakeCloud({ nowMs: clock.wallMs, honoursTokens, lagMs })
  const driver: Driver = { ...fake.driver([set]) }
  const news: string[] = []
  const steps = new Steps({ clock, onBegin: () => {}, onEnd: () => {}, onNews: (_, words) => void news.push(words) })
  const cloud = new Cloud({ driver, clock, listMs: 1_000, reserve: async () => 0, onCall: () => {} })
  const account = new Account({ cloud, clock, steps, shutdownMs: 1_000, endMs: 5_000, lagMs: 10_000 })
  return { fake, driver, account, news, clock }
}

/** The next call is carried out, and its answer is lost. */
function loseReply(driver: Driver): void {
  const create = driver.create
  driver.create = async (...args) => {
    driver.create = create
    await create(...args)
    throw new Unanswered('the reply was lost')
  }
}

describe('Account.create', () => {
  it.each([true, false])('makes one machine when a reply is lost and tokens are honoured: %s', async honoursTokens => {
    const { fake, driver, account, news } = site({ honoursTokens, lagMs: 2_000 })
    loseReply(driver)
    const { id } = await account.create(intent, soonMs, signal)
    expect([fake.live, account.made, account.mayHaveMore]).toEqual([[id], id, false])
    expect(news[0]).toBe('the reply was lost')
  })

  it('tries again when the cloud wants a slower pace, and does not forget a lost reply for it', async () => {
    const { fake, driver, account } = site()
    loseReply(driver)
    const first = driver.create
    driver.create = async (...args) => {
      await first(...args).catch(() => {})
      driver.create = async () => {
        throw new RateLimited('too many calls', 0)
      }
      throw new Unanswered('the reply was lost')
    }
    await expect(account.create(intent, 5_000, signal)).rejects.toThrow('it took too long: too many calls')
    expect(account.mayHaveMore).toBe(true)
    expect(await account.own(signal)).toEqual(fake.live)
  })

  it('fails at once when the cloud refuses, and there is nothing to look for', async () => {
    const { driver, account, clock } = site()
    driver.create = async () => {
      throw new CloudRefused('no such image')
    }
    await expect(account.create(intent, soonMs, signal)).rejects.toThrow('the cloud refuses: no such image')
    expect([account.mayHaveMore, await account.own(signal), clock.monotonicMs()]).toEqual([false, [], 0])
  })
})

describe('Account.listed', () => {
  it('waits for all tags, and names those that lack', async () => {
    const { fake, account, news } = site()
    const { id } = await account.create(intent, soonMs, signal)
    fake.retag(id, ({ Intent: _, ...others }) => others)
    await expect(account.listed(id, intent.tags, 3_000, signal)).rejects.toThrow('it lacks tags, or has others: Intent')
    expect(news).toEqual(['it lacks tags, or has others: Intent'])
    fake.retag(id, () => intent.tags)
    expect(await account.listed(id, intent.tags, soonMs, signal)).toMatchObject({ id, state: 'running' })
  })

  it('fails when the cloud has ended it', async () => {
    const { fake, account } = site()
    const { id } = await account.create(intent, soonMs, signal)
    fake.end(id)
    await expect(account.listed(id, intent.tags, soonMs, signal)).rejects.toThrow('the cloud has ended it (gone)')
  })
})

describe('Account.end', () => {
  it('asks again, and gives up with the words of the cloud', async () => {
    const { driver, account } = site()
    const { id } = await account.create(intent, soonMs, signal)
    const destroy = vi.fn(async () => {
      throw new CloudRefused('you may not end it')
    })
    driver.destroy = destroy
    expect([...(await account.end([id], signal))]).toEqual([[id, 'you may not end it']])
    expect(destroy.mock.calls.length).toBe(5)
  })

  it('takes no machine for gone that the cloud does not show', async () => {
    const { driver, account } = site()
    const { id } = await account.create(intent, soonMs, signal)
    driver.find = async () => 'unknown'
    expect([...(await account.end([id], signal))]).toEqual([[id, 'it is not shown, which is no proof']])
  })

  it('ends nothing of another set', async () => {
    const { fake, account } = site()
    const foreign = fake.add({ InstanceSetID: 'somebody-else' })
    const { machines } = await account.look(signal)
    expect([machines, fake.live]).toEqual([[], [foreign]])
  })
})
