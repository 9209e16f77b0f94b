/**
 * The contract of every driver. A driver's test calls `contractOf` with a way to start its cloud; each test has sets of its own,
 * so that tests may share one account.
 */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CloudCall, Driver, Instance, Intent } from '../driver.ts'
import { IntentOver } from '../errors.ts'

/** One account of a cloud. */
export interface TestCloud {
  /** The driver of an installation, which sees only machines with this set in the tag `InstanceSetID`. */
  driver(set: string): Driver | Promise<Driver>
  /** An intent with all that the cloud needs for a machine; `tags` already has the set. */
  intent(over: Pick<Intent, 'token' | 'tags'>): Intent
  /**
   * A machine that no Skylab made, without a tag of ours.
   * @returns its id, and whether it runs with the tags that it had
   */
  foreign(): Promise<{ readonly id: string; isUntouched(): Promise<boolean> }>
  close(): Promise<void>
}

export interface ContractOptions {
  /** For a machine to run, or to be gone. Default 20 s. */
  readonly patienceMs?: number
}

const call: CloudCall = { signal: new AbortController().signal, agent: 'contract/1/1' }
const unique = () => randomBytes(8).toString('hex')

/** One installation of a test, whose machines are destroyed at its end. */
interface Site {
  readonly set: string
  readonly driver: Driver
  intent(tags?: Record<string, string>, token?: string): Intent
  /** With what must be made before. */
  create(intent: Intent): Promise<Instance>
}

export function contractOf(name: string, start: () => Promise<TestCloud>, options: ContractOptions = {}): void {
  const { patienceMs = 20_000 } = options
  const patience = { timeout: patienceMs, interval: 20 }

  describe(`driver ${name}`, () => {
    let cloud: TestCloud
    beforeAll(async () => {
      cloud = await start()
    }, 120_000)
    afterAll(() => cloud?.close())

    const running = async ({ driver }: Site, { id }: Instance): Promise<Instance> => {
      await expect.poll(async () => stateOf(await driver.find(id, call)), patience).toBe('running')
      return (await driver.find(id, call)) as Instance
    }
    const gone = ({ driver }: Site, id: string) =>
      expect.poll(async () => stateOf(await driver.find(id, call)), patience).toBe('gone')

    /** Leaves nothing, whatever becomes of the test. */
    const at = (body: (site: Site, other: Site) => Promise<void>) => async () => {
      const sites = await Promise.all([siteOf(cloud), siteOf(cloud)])
      try {
        await body(...(sites as [Site, Site]))
      } finally {
        for (const { driver } of sites) await sweep(driver)
      }
    }

    test(
      'create makes a machine of the intent, which comes to run at an address',
      at(async site => {
        const intent = site.intent({ Intent: 'i-1' })
        const created = await site.create(intent)
        expect(created).toMatchObject({ providerType: intent.providerType, tags: intent.tags })
        expect(['pending', 'running']).toContain(created.state)
        const { address, id, tags } = await running(site, created)
        expect({ id, tags }).toEqual({ id: created.id, tags: intent.tags })
        expect(address).toMatch(/^[^\s]+:\d+$/)
      }),
      patienceMs * 3,
    )

    test(
      'create makes one machine of a token that comes twice, also at once, when it promises that',
      at(async site => {
        if (!site.driver.idempotentCreate) return
        const intent = site.intent()
        const both = await Promise.all([site.create(intent), site.create(intent)])
        const again = await site.create(intent)
        expect(new Set([...both, again].map(({ id }) => id)).size).toBe(1)
        await expect.poll(() => idsOf(site), patience).toEqual([again.id])
        const other = await site.create(site.intent())
        await expect.poll(() => idsOf(site), patience).toEqual([again.id, other.id].toSorted())
      }),
      patienceMs * 3,
    )

    test(
      'create rejects a token whose machine has ended, when it promises one machine of a token',
      at(async site => {
        if (!site.driver.idempotentCreate) return
        const intent = site.intent()
        const { id } = await site.create(intent)
        await site.driver.destroy(id, call)
        await gone(site, id)
        await expect(site.create(intent)).rejects.toBeInstanceOf(IntentOver)
        expect(await liveOf(site)).toEqual([])
      }),
      patienceMs * 3,
    )

    test(
      'create makes none when the lease has ended',
      at(async site => {
        const expired = new Error('the lease has expired')
        const check = () => {
          throw expired
        }
        const intent = site.intent()
        await expect(site.driver.create(intent, [], { ...call, check })).rejects.toBe(expired)
        // A machine of the same token, made later, is the only one.
        const { id } = await site.create(intent)
        await expect.poll(() => idsOf(site), patience).toEqual([id])
      }),
      patienceMs * 3,
    )

    test(
      'create marks the moments before and after its request',
      at(async site => {
        const places: string[] = []
        const intent = site.intent()
        const prepared = (await site.driver.prepare?.(intent, call)) ?? []
        const failpoint = (place: string) => void places.push(place)
        await site.driver.create(intent, prepared, { ...call, failpoint })
        expect(places).toEqual(['before-send', 'after-send'])
      }),
      patienceMs * 3,
    )

    test(
      'list has the machines of its set alone',
      at(async (site, other) => {
        const [one, two, theirs] = await Promise.all([
          site.create(site.intent({ Name: 'one' })),
          site.create(site.intent({ Name: 'two' })),
          other.create(other.intent()),
        ])
        const foreign = await cloud.foreign()
        await expect.poll(() => idsOf(site), patience).toEqual([one.id, two.id].toSorted())
        await expect.poll(() => idsOf(other), patience).toEqual([theirs.id])
        const names = (await site.driver.list(call)).map(({ tags }) => tags.Name).toSorted()
        expect(names).toEqual(['one', 'two'])
        expect(await foreign.isUntouched()).toBe(true)
      }),
      patienceMs * 3,
    )

    test(
      'setTags changes some tags, and keeps the others',
      at(async site => {
        const { id } = await running(site, await site.create(site.intent({ IdleBehavior: 'run', Kept: 'a' })))
        await site.driver.setTags(id, { IdleBehavior: 'hold', New: 'b c="d",é' }, call)
        const expected = { InstanceSetID: site.set, IdleBehavior: 'hold', Kept: 'a', New: 'b c="d",é' }
        await expect.poll(() => tagsOf(site, id), patience).toEqual(expected)
        expect((await site.driver.list(call)).find(each => each.id === id)?.tags).toEqual(expected)
      }),
      patienceMs * 3,
    )

    test(
      'destroy ends a machine, and is no error when it is gone, or never was',
      at(async site => {
        const created = await site.create(site.intent())
        const { id } = await running(site, created)
        await site.driver.destroy(id, call)
        await gone(site, id)
        await site.driver.destroy(id, call)
        await site.driver.destroy(
          id.replace(/[0-9a-f]{4}$/, digits => (digits === 'ffff' ? 'fffe' : 'ffff')),
          call,
        )
        expect(await liveOf(site)).toEqual([])
        expect(stateOf(await site.driver.find(id, call))).toBe('gone')
      }),
      patienceMs * 3,
    )

    test(
      'destroy ends a machine that does not run yet',
      at(async site => {
        const { id } = await site.create(site.intent())
        await site.driver.destroy(id, call)
        await gone(site, id)
      }),
      patienceMs * 3,
    )

    test(
      'find proves nothing of a machine that it never saw',
      at(async (site, other) => {
        const { id } = await site.create(site.intent())
        const unknown = id.replace(/[0-9a-f]{4}$/, digits => (digits === 'ffff' ? 'fffe' : 'ffff'))
        expect(await site.driver.find(unknown, call)).toBe('unknown')
        const theirs = await other.create(other.intent())
        expect(await site.driver.find(theirs.id, call)).toBe('unknown')
      }),
      patienceMs * 3,
    )

    test(
      'destroy and setTags leave machines of others as they are',
      at(async (site, other) => {
        const theirs = await running(other, await other.create(other.intent({ Name: 'theirs' })))
        const foreign = await cloud.foreign()
        for (const id of [theirs.id, foreign.id]) {
          // A refusal is as good as silence.
          await site.driver.setTags(id, { Name: 'ours', InstanceSetID: site.set }, call).catch(() => {})
          await site.driver.destroy(id, call).catch(() => {})
        }
        expect(await other.driver.find(theirs.id, call)).toEqual(theirs)
        expect(await foreign.isUntouched()).toBe(true)
        expect(await liveOf(site)).toEqual([])
      }),
      patienceMs * 3,
    )

    test(
      'prepare makes one resource of an intent, which is an orphan until a machine has it',
      at(async (site, other) => {
        if (!site.driver.prepare) {
          expect(await site.driver.orphans(call)).toEqual([])
          return
        }
        const intent = site.intent()
        const [first] = await site.driver.prepare(intent, call)
        const [again] = await site.driver.prepare(intent, call)
        expect(again?.id).toBe(first!.id)
        const orphan = { kind: first!.kind, id: first!.id, tags: intent.tags }
        await expect.poll(() => site.driver.orphans(call), patience).toMatchObject([orphan])
        expect(await other.driver.orphans(call)).toEqual([])
        await site.driver.create(intent, [again!], call)
        await expect.poll(() => site.driver.orphans(call), patience).toEqual([])
      }),
      patienceMs * 3,
    )

    test(
      'remove ends an orphan, and is no error when it is gone',
      at(async site => {
        if (!site.driver.prepare) return
        const [resource] = await site.driver.prepare(site.intent(), call)
        await site.driver.remove(resource!, call)
        await expect.poll(() => site.driver.orphans(call), patience).toEqual([])
        await site.driver.remove(resource!, call)
      }),
      patienceMs * 3,
    )

    test(
      'every call rejects with the reason of its signal when that has fired',
      at(async site => {
        const reason = new Error('shut down')
        const aborted = { ...call, signal: AbortSignal.abort(reason) }
        const { driver } = site
        await expect(driver.create(site.intent(), [], aborted)).rejects.toBe(reason)
        await expect(driver.list(aborted)).rejects.toBe(reason)
        await expect(driver.find('i-0123456789abcdef0', aborted)).rejects.toBe(reason)
        expect(await liveOf(site)).toEqual([])
      }),
      patienceMs * 3,
    )
  })
}

async function siteOf(cloud: TestCloud): Promise<Site> {
  const set = `set-${unique()}`
  const driver = await cloud.driver(set)
  const intent = (tags: Record<string, string> = {}, token = unique()) =>
    cloud.intent({ token, tags: { InstanceSetID: set, ...tags } })
  const create = async (of: Intent) => driver.create(of, (await driver.prepare?.(of, call)) ?? [], call)
  return { set, driver, intent, create }
}

async function sweep(driver: Driver): Promise<void> {
  for (const { id, state } of await driver.list(call)) if (state !== 'gone') await driver.destroy(id, call)
  for (const resource of await driver.orphans(call)) await driver.remove(resource, call)
  await driver.close()
}

const stateOf = (found: Instance | 'unknown') => (found === 'unknown' ? 'unknown' : found.state)

async function liveOf({ driver }: Site): Promise<readonly Instance[]> {
  return (await driver.list(call)).filter(({ state }) => state === 'pending' || state === 'running')
}

const idsOf = async (site: Site) => (await liveOf(site)).map(({ id }) => id).toSorted()

async function tagsOf({ driver }: Site, id: string): Promise<Instance['tags'] | undefined> {
  const found = await driver.find(id, call)
  return found === 'unknown' ? undefined : found.tags
}
