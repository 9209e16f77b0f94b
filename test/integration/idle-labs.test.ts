/** Labs of an installation that stops idle ones: what they have beside others, and how their pods are stamped. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { configSchema } from '../../src/config/schema.ts'
import { KubeClient } from '../../src/kube/client.ts'
import { stamps } from '../../src/kube/labels.ts'
import { networkPolicySpec } from '../../src/labs/network.ts'
import { readCredential } from '../../src/ops/credential.ts'
import { checkActivityToken } from '../../src/store/activity-token.ts'
import { openCredential } from '../../src/store/credential.ts'
import { Sealer } from '../../src/store/sealing.ts'
import { silentLogger } from '../../src/telemetry/log.ts'
import { eventually } from '../kit/cluster/world.ts'
import type { Client } from '../kit/fleet/client.ts'
import { useFleet } from '../kit/fleet/fleet.ts'
import { testBed } from '../kit/testbed.ts'

const fleet = useFleet({ replicas: 2, config: { idle: { enabled: true } } })
const canary = 'hub-token-canary-5b1f'
const sealer = () => {
  const text = readFileSync(join(fleet().stateDir, 'sealing.key'), 'utf8')
  return new Sealer([Buffer.from(text, 'base64')])
}

async function run(): Promise<{ user: Client; op: number }> {
  const user = fleet().user()
  expect((await user.create(undefined, { env: { JUPYTERHUB_API_TOKEN: canary } })).status).toBe(303)
  const { outcome, op } = await user.follow()
  expect(outcome).toBe('complete')
  return { user, op }
}

const recordOf = ({ username }: Client) => fleet().world.redis.hgetall(fleet().world.keys.record(username))
const objectOf = async ({ username }: Client, kind: string) =>
  (await fleet().world.objectsOf(username)).find(
    object => object.kind === kind && object.metadata.name === `nb-${username}`,
  )!

test.concurrent('a lab has its size, its activity token and the controller as a peer', async () => {
  const { user, op } = await run()
  expect((await objectOf(user, 'Pod')).metadata.annotations).toMatchObject({ 'skylab/size': 'small' })
  const { data } = (await objectOf(user, 'Secret')) as unknown as { data: Record<string, string> }
  expect(Object.keys(data)).toEqual(['activity-token'])
  const token = Buffer.from(data['activity-token']!, 'base64').toString()
  expect(checkActivityToken(sealer(), user.username, token)).toBe(op)
  const { network } = configSchema.parse({})
  expect((await objectOf(user, 'NetworkPolicy')).spec).toMatchObject({
    ingress: [
      {
        from: [{}, {}, (networkPolicySpec(network, 'skylab') as { ingress: [{ from: object[] }] }).ingress[0].from[2]],
      },
    ],
  })
})

test.concurrent('the record keeps the token that the lab is asked with, sealed, until the lab is gone', async () => {
  const { user, op } = await run()
  const { credential } = await recordOf(user)
  expect(openCredential(sealer(), user.username, { op, credential })).toBe(canary)
  const dump = JSON.stringify(Object.fromEntries(await fleet().world.redisDump()))
  const status = JSON.stringify((await user.userStatus()).body)
  const events = []
  for await (const event of await user.events()) events.push(event)
  const logs = readdirSync(join(fleet().stateDir, 'log')).map(name =>
    readFileSync(join(fleet().stateDir, 'log', name), 'utf8'),
  )
  const objects = (await fleet().world.objectsOf(user.username)).filter(({ kind }) => kind !== 'Secret')
  const namespace = await fleet().world.namespaceOf(user.username)
  for (const text of [dump, status, ...logs, ...[events, objects, namespace].map(each => JSON.stringify(each))]) {
    expect(text).not.toContain(canary)
    expect(text).not.toContain(Buffer.from(canary).toString('base64'))
  }
  expect((await fleet().admin.delete(user.username)).status).toBe(202)
  expect((await user.follow()).outcome).toBe('complete')
  expect(await recordOf(user)).toEqual({})
})

test.concurrent('the token is read from the lab itself when the record has none', async ({ onTestFinished }) => {
  const { user, op } = await run()
  const config = configSchema.parse({
    installation: fleet().installation,
    lab: { namespacePrefix: fleet().terms.namespacePrefix },
  })
  const kube = new KubeClient({
    ...{ clock: systemClock, log: silentLogger(), version: 'test', replica: 'test' },
    kubernetes: { kubeconfig: testBed().controllerKubeconfig, requestTimeoutSeconds: 10, maxInFlight: 4 },
  })
  onTestFinished(() => kube.close())
  const { uid } = (await fleet().world.namespaceOf(user.username)).metadata
  const options = { kube, clock: systemClock, config, variables: ['JUPYTERHUB_API_TOKEN'] }
  const read = (namespaceUid: string) =>
    readCredential(options, { user: user.username, op, namespaceUid }, AbortSignal.timeout(30_000))
  expect(await read(uid)).toBe(canary)
  expect(await read(uid)).toBe(canary)
})

test.concurrent('a deletion of a lab that nobody used stamps its pod, by its UID, before it deletes it', async () => {
  const { user } = await run()
  const held = fleet().arm('lab.claim.before-act', 'hold', { user: user.username })
  expect((await fleet().admin.delete(user.username)).status).toBe(202)
  await held.landed()
  const { op } = await recordOf(user)
  const { world } = fleet()
  await world.redis.hset(world.keys.record(user.username), 'cull', `${op} ${Date.parse('2026-11-24T19:06:00Z')}`)
  const seen = fleet().arm('lab.delete.pod.before-act', 'hold', { user: user.username })
  held.release()
  await seen.landed()
  expect((await world.podOf(user.username)).metadata.annotations).toMatchObject({
    [stamps.stopped]: '2026-11-24T19:06:00Z',
  })
  seen.release()
  expect((await user.follow()).outcome).toBe('complete')
  const requests = (await fleet().audit.requestsOf(fleet().namespace(user.username))).filter(
    each => each.op === Number(op),
  )
  expect(requests.map(({ verb, resource, code }) => [verb, resource, code])).toEqual([
    ['patch', 'pods', 200],
    ['delete', 'pods', 200],
    ['delete', 'namespaces', 200],
  ])
})

test.concurrent('a lab that people stamp is deleted, and its stream says why', async () => {
  const { user } = await run()
  const { username } = user
  await fleet().world.kube.patch('Pod', `nb-${username}`, fleet().namespace(username), {
    metadata: { annotations: { [stamps.stopped]: '2026-11-24T19:06:00Z' } },
  })
  await eventually('the deletion', async () => (await user.userStatus()).body.status !== 'running', 5_000)
  const { outcome, events } = await user.follow()
  expect(outcome).toBe('complete')
  expect(events[0]).toMatchObject({
    event: 'info',
    data: 'The lab was stopped by the annotation kubeflow-resource-stopped of its pod',
  })
  expect((await user.userStatus()).status).toBe(404)
  expect(await fleet().world.leftOf(username)).toEqual([])
})
