/** An init container prepares a user before the first lab, until it has succeeded once. */
import { expect, test } from 'vitest'
import { eventually } from '../kit/cluster/world.ts'
import type { Client } from '../kit/fleet/client.ts'
import { useFleet } from '../kit/fleet/fleet.ts'

const small = { limits: { cpu: 1, memory: '4Gi' } }
/** No node has room for the size `huge`: its pod has the status that a test sets. */
const sizes = { small, medium: small, large: small, huge: { limits: { cpu: 100_000, memory: '1Gi' } } }
const huge = { image_type: 'recommended', size: 'huge' }
const provisioning = { image: 'registry.example.org/prepare:1' }
const times = { noRoomGraceSeconds: 300 }
const fleet = useFleet({ replicas: 2, config: { lab: { sizes, provisioning }, times } })

const containersOf = async (user: Client): Promise<string[]> => {
  const { spec } = await fleet().world.podOf(user.username)
  return (spec.initContainers ?? []).map(({ name }: { name: string }) => name)
}
const initStatus = (state: object) => ({
  phase: 'Pending',
  initContainerStatuses: [
    { ...{ name: 'provision', image: provisioning.image, imageID: '', ready: false, restartCount: 0 }, state },
  ],
})

async function run(user: Client): Promise<void> {
  expect((await user.create()).status).toBe(303)
  expect((await user.follow()).outcome).toBe('complete')
}

async function remove(user: Client): Promise<void> {
  expect((await fleet().admin.delete(user.username)).status).toBe(202)
  expect((await user.follow()).outcome).toBe('complete')
}

test.concurrent('provisioning is part of labs until it once succeeded, and again when that record is lost', async () => {
  const user = fleet().user()
  const { redis, keys } = fleet().world
  await run(user)
  expect(await containersOf(user)).toEqual(['provision'])
  expect(await redis.sismember(keys.provisioned, user.username)).toBe(1)
  await remove(user)
  await run(user)
  expect(await containersOf(user)).toEqual([])
  await redis.srem(keys.provisioned, user.username)
  await remove(user)
  await run(user)
  expect(await containersOf(user)).toEqual(['provision'])
  expect(await redis.sismember(keys.provisioned, user.username)).toBe(1)
})

test.concurrent('a creation fails at once with the last lines of failed provisioning, and can be repeated', async () => {
  const user = fleet().user()
  await user.create(huge)
  await eventually('the pod', () => fleet().world.podOf(user.username))
  await fleet().world.setPodStatus(user.username, initStatus({ running: {} }))
  const stream = await user.events()
  const texts: string[] = []
  for await (const { data } of stream) {
    texts.push(data)
    if (data === 'Preparing what the lab needs') break
  }
  await stream.close()
  expect(texts.at(-1)).toBe('Preparing what the lab needs')
  const failure = { exitCode: 3, reason: 'Error', message: 'mkdir /home: no space left\n' }
  await fleet().world.setPodStatus(user.username, initStatus({ running: null, terminated: failure }))
  const { outcome, errors, events } = await user.follow()
  expect([outcome, errors.at(-1)]).toEqual([
    'failed',
    'The lab could not be prepared: exit code 3\nmkdir /home: no space left',
  ])
  expect(events.filter(({ data }) => data === 'Preparing what the lab needs')).toHaveLength(1)
  expect(await fleet().world.redis.sismember(fleet().world.keys.provisioned, user.username)).toBe(0)
  await run(user)
  expect(await containersOf(user)).toEqual(['provision'])
})

test.concurrent('provisioning runs again after it succeeded for a lab that failed', async () => {
  const user = fleet().user()
  await user.create(huge)
  await eventually('the pod', () => fleet().world.podOf(user.username))
  const status = {
    ...initStatus({ terminated: { exitCode: 0, reason: 'Completed' } }),
    containerStatuses: [
      {
        ...{ name: 'lab', image: 'any', imageID: '', ready: false, restartCount: 0 },
        state: { terminated: { exitCode: 7, reason: 'Error' } },
      },
    ],
  }
  await fleet().world.setPodStatus(user.username, status)
  expect((await user.follow()).outcome).toBe('failed')
  await run(user)
  expect(await containersOf(user)).toEqual(['provision'])
})

test.concurrent('a creation fails with a reason when the image of provisioning does not exist', async () => {
  const user = fleet().user()
  await user.create(huge)
  await eventually('the pod', () => fleet().world.podOf(user.username))
  const message = 'rpc error: code = NotFound desc = registry.example.org/prepare:1: not found'
  await fleet().world.setPodStatus(user.username, initStatus({ waiting: { reason: 'ErrImagePull', message } }))
  const { outcome, errors } = await user.follow()
  expect(outcome).toBe('failed')
  expect(errors.at(-1)).toMatch(/^The image that prepares the lab cannot be pulled: it does not exist/)
})
