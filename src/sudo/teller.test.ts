/** Reports of replicas, on an API server in memory, with a Redis that keeps the reports. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { RetryLater } from '../base/errors.ts'
import type { Tell, Told } from '../store/tenants.ts'
import { Tenants } from '../tenants/testing/replicas.ts'
import { group, user } from '../tenants/testing/world.ts'
import { Teller } from './teller.ts'

let tenants: Tenants
let tells: Tell[]
let isSilent: boolean
const tellers: Teller[] = []
beforeEach(() => {
  tenants = new Tenants()
  tells = []
  isSilent = false
})
afterEach(async () => {
  await Promise.all(tellers.splice(0).map(teller => teller.stop()))
  await tenants.stop()
})

const spec = { sudo: { eligible: [user('ann'), group('oncall')] } }
const grantOf = (id: string, who: string, ms = 60_000) => ({
  ...{ id, user: who, reason: 'r', as: user(who) },
  until: new Date(tenants.clock.wallMs() + ms).toISOString(),
})
const put = (grants: readonly object[], more: object = spec) => tenants.declare('a', { spec: more, status: { grants } })

function teller() {
  const { world } = tenants.replica()
  const store = {
    tell: async (tell: Tell): Promise<readonly Told[]> => {
      if (isSilent) throw new RetryLater('Redis does not answer')
      tells.push(tell)
      return []
    },
  }
  const made = new Teller({ world, store, clock: tenants.clock, log: tenants.log, onTold: () => {} })
  tellers.push(made)
  made.start()
  return { ...world, teller: made }
}

/** The last events of a grant that were reported, by their ranks. */
function told(id: string): string[] {
  const found = tells.flatMap(({ grants }) => grants.filter(grant => grant.id === id))
  return (found.at(-1)?.events ?? []).map(([rank, event, data]) => {
    const { why } = JSON.parse(data) as { why?: string }
    return `${rank} ${event}${why === undefined ? '' : ` ${why}`}`
  })
}

test('Teller tells that a grant was made, became effective, and ended with its time', async () => {
  teller()
  put([grantOf('1', 'ann', 2_000)])
  await tenants.pass(1_000)
  expect(told('1')).toEqual(['1 granted', '2 effective'])
  await tenants.pass(2_000)
  expect(told('1')).toEqual(['1 granted', '3 ended until'])
})

test.each([
  ['the user has released it', () => put([]), 'released'],
  ['he has asked again', () => put([grantOf('2', 'ann')]), 'replaced'],
  ['he is eligible no more', () => put([grantOf('1', 'ann')], { sudo: { eligible: [group('oncall')] } }), 'ineligible'],
] as const)('Teller tells why a grant has ended when %s', async (_, end, why) => {
  teller()
  put([grantOf('1', 'ann')])
  await tenants.pass(1_000)
  end()
  await tenants.pass(1_000)
  expect(told('1').at(-1)).toBe(`3 ended ${why}`)
})

test('Teller leaves a grant as it was when only the answer of its own replica shows the end', async () => {
  const { sights, teller: made } = teller()
  put([grantOf('1', 'ann')])
  await tenants.pass(1_000)
  const { status: _, ...object } = tenants.get('LNamespace', 'a')!
  sights.lnamespaces.lay({ ...object, metadata: { ...object.metadata, resourceVersion: '999999' } })
  // Its end would be reported without the cause.
  made.tellAll()
  await tenants.pass(200)
  expect(tells.at(-1)!.grants.map(({ id }) => id)).toEqual(['1'])
})

test('Teller tells the end only when the right is gone', async () => {
  teller()
  put([grantOf('1', 'ann')])
  await tenants.pass(1_000)
  tenants.api.onWrite = (verb, ref) => {
    if (verb !== 'status' && ref.kind.startsWith('ClusterRole')) throw new RetryLater('later')
  }
  put([])
  await tenants.pass(1_000)
  expect(told('1')).toEqual(['1 granted'])
  tenants.api.onWrite = () => {}
  await tenants.pass(10_000)
  expect(told('1').at(-1)).toBe('3 ended released')
})

test('Teller tells afterwards what happened while Redis was silent', async () => {
  teller()
  put([grantOf('1', 'ann')])
  await tenants.pass(1_000)
  isSilent = true
  put([])
  await tenants.pass(5_000)
  expect(told('1')).toEqual(['1 granted', '2 effective'])
  isSilent = false
  await tenants.pass(60_000)
  expect(told('1').at(-1)).toBe('3 ended released')
})

test('Teller tells whether a generation is ready only when the status is of it', async () => {
  teller()
  put([])
  await tenants.pass(1_000)
  expect(JSON.parse(tells.at(-1)!.ready)).toMatchObject({ status: 'True', generation: 1 })
  tenants.api.onWrite = verb => {
    if (verb === 'status') throw new RetryLater('later')
  }
  put([], { ...spec, users: [user('x')] })
  await tenants.pass(200)
  expect(tells.at(-1)).toMatchObject({ generation: 2, ready: '' })
})

test('Teller calls Redis no more when nothing changes', async () => {
  teller()
  put([grantOf('1', 'ann')])
  await tenants.pass(2_000)
  const before = tells.length
  await tenants.pass(30_000)
  expect(tells.length).toBe(before)
})
