/** `skylab heal`: shows the effects of a poisoned counter, and removes them on request. */
import { expect, test } from 'vitest'
import { annotations, labels } from '../../src/kube/labels.ts'
import { eventually } from '../kit/cluster/world.ts'
import type { Client } from '../kit/fleet/client.ts'
import { useFleet } from '../kit/fleet/fleet.ts'
import { heal as healBy, poison } from '../kit/fleet/heal.ts'

const fleet = useFleet({ replicas: 1 })
/** The cluster removes one namespace after another, including those of other tests. */
const removalMs = 30_000

const heal = (...options: string[]) => healBy(fleet(), ...options)

async function run(user: Client): Promise<void> {
  expect((await user.create()).status).toBe(303)
  expect((await user.follow()).outcome).toBe('complete')
}

const forged = (username: string) => ({
  ...{ apiVersion: 'v1', kind: 'Namespace' },
  metadata: {
    name: fleet().namespace(username),
    labels: { [labels.installation]: fleet().installation, [labels.op]: String(poison) },
    annotations: { [annotations.user]: username },
  },
})

test('heal shows what is ahead and changes nothing; with --apply it removes that once, and labs work again', async () => {
  const { redis, keys, kube } = fleet().world
  const [lab, stuck, deleted, other] = [fleet().user(), fleet().user(), fleet().user(), fleet().user()]
  await run(lab)
  await run(stuck)
  expect(await heal()).toEqual({ code: 0, out: 'no number is beyond the clock of Redis\n', err: '' })

  await redis.set(keys.last, poison)
  await redis.hset(keys.record(stuck.username), 'op', poison)
  await redis.set(keys.tombstone(deleted.username), poison)
  await redis.xadd(keys.events(deleted.username), `${poison}-1`, 'event', 'info', 'data', 'x')
  const { uid } = (await kube.create(forged(other.username))).metadata

  const before = await fleet().world.redisDump()
  const dry = await heal('--json')
  expect(dry.code).toBe(0)
  expect(JSON.parse(dry.out)).toMatchObject({ applied: false })
  const { findings } = JSON.parse(dry.out)
  expect(findings).toHaveLength(5)
  expect(findings).toEqual(
    expect.arrayContaining([
      { kind: 'counter', op: poison, to: expect.any(Number) },
      { kind: 'record', user: stuck.username, op: poison },
      { kind: 'tombstone', user: deleted.username, op: poison },
      { kind: 'stream', user: deleted.username, op: poison },
      { kind: 'namespace', name: fleet().namespace(other.username), uid, op: poison },
    ]),
  )
  const isKept = (key: string) => !/:(doubt|mark|lease|sealing|catalogue|digests)/.test(key)
  const left = await fleet().world.redisDump()
  for (const [key, { value }] of before) if (isKept(key)) expect([key, left.get(key)?.value]).toEqual([key, value])
  expect((await heal()).out).toMatch(/^WHAT .*WOULD BE\n.*Nothing was changed: --apply does it\.\n$/s)

  const { code, out, err } = await heal('--apply')
  expect([code, out]).toEqual([0, expect.stringMatching(/^WHAT .*WAS\ncounter .*set to \d{16}\n/)])
  const audited = err.split('\n').filter(line => line.startsWith('{"log":"audit",'))
  const actor = { kind: 'operator' }
  expect(audited.map(line => JSON.parse(line)).sort((a, b) => (a.action < b.action ? -1 : 1))).toMatchObject([
    { action: 'heal.counter', result: 'succeeded', actor },
    { action: 'heal.record', result: 'succeeded', actor },
    { action: 'heal.record', result: 'succeeded', actor },
    {
      action: 'lab.delete',
      result: 'succeeded',
      actor,
      object: { name: fleet().namespace(other.username), op: poison },
    },
  ])
  expect(Number(await redis.get(keys.last))).toBeLessThanOrEqual(Date.now() * 1000)
  expect(await redis.exists(keys.tombstone(deleted.username), keys.events(deleted.username))).toBe(0)
  const isGone = async () => (await fleet().world.namespaceOf(other.username)) === null
  await eventually('the namespace is gone', isGone, removalMs)
  expect((await heal('--apply')).out).toBe('no number is beyond the clock of Redis\n')

  for (const user of [lab, stuck]) {
    await eventually('its lab runs', async () => (await user.userStatus()).body.status === 'running')
  }
  await run(other)
  expect((await fleet().admin.delete(other.username)).status).toBe(202)
  await eventually('gone', async () => (await other.userStatus()).status === 404, removalMs)
})

test('heal names foreign objects and does not touch them', async () => {
  const name = `${fleet().name}-heal`
  const { kube } = fleet().world
  const object = forged(name)
  const { uid } = (await kube.create({ ...object, metadata: { ...object.metadata, name } })).metadata
  const { out } = await heal('--apply')
  expect(out).toContain(`namespace  ${name}  ${poison}  left untouched: it is not ours`)
  expect((await kube.get('Namespace', name)).metadata.uid).toBe(uid)
  await kube.delete('Namespace', name)
})
