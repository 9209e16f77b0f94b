/** kill -9 of the owner while it makes a quota anew that counts a pod which was never stored. */
import { expect } from 'vitest'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { expectNothingLeft, fullLabFleet } from './wave.ts'

/** The places of one recovery, in its order. Each later one of the same name is reached by way of the ones before. */
const moments: readonly (readonly string[])[] = [
  ['make.namespace.before-commit'],
  ['make.namespace.after-commit'],
  ['make.content.before-act'],
  ['make.resourcequota.before-send'],
  // Its request for a new one was refused, since the old one stands.
  ['make.resourcequota.before-send', 'make.resourcequota.after-send'],
  // The old one is removed.
  ['make.content.before-act', 'make.content.before-act'],
  ['make.content.before-act', 'make.content.before-act', 'make.content.after-act'],
]

const quotaOf = (fleet: Fleet, { username }: Client) =>
  fleet.world.kube.get('ResourceQuota', `nb-${username}`, fleet.namespace(username))

interface Miscounted {
  readonly user: Client
  readonly uid: string
  readonly held: ReturnType<Fleet['arm']>
  readonly namespace: string
}

/** A creation whose quota counts a pod that does not exist, held at the last of these places. */
async function miscounted(fleet: Fleet, places: readonly string[]): Promise<Miscounted> {
  const user = fleet.user()
  const hold = (place: string) => fleet.arm(`lab.create.${place}`, 'hold', { user: user.username })
  let held = hold('make.pod.before-act')
  expect((await user.at(fleet.url(0)).create()).status).toBe(303)
  await held.landed()
  const quota = await eventually('a quota that is counted', async () => {
    const standing = await quotaOf(fleet, user)
    return standing?.status?.used && standing
  })
  const { name, namespace, uid } = quota.metadata
  // The API server leaves this when the sender of a pod dies behind the charge.
  await fleet.world.kube.patch('ResourceQuota', name, namespace, { status: { used: quota.status.hard } }, 'status')
  for (const [index, place] of places.entries()) {
    const next = hold(place)
    held.release()
    const isHeld = next.landed().then(() => true)
    // The cluster may count once more before the pod is made, on a busy machine: then nothing is wrong with this quota.
    const isRecounted = index === 0 && user.follow().then(() => false)
    if (!(await (isRecounted ? Promise.race([isHeld, isRecounted]) : isHeld))) {
      isHeld.catch(() => {})
      return miscounted(fleet, places)
    }
    if (isRecounted) isRecounted.catch(() => {})
    held = next
  }
  return { user, uid, held, namespace }
}

/** By the audit log, the quota was removed once and made twice, and the pod is younger than the new one. */
async function expectRecounted(fleet: Fleet, { user, uid, namespace }: Miscounted) {
  const { outcome, op } = await user.follow()
  expect(outcome).toBe('complete')
  const own = (await fleet.audit.writesOf(namespace)).filter(request => request.code < 300 && request.op === op)
  const course = own.filter(({ resource }) => resource === 'resourcequotas' || resource === 'pods')
  expect(course.map(({ verb, resource }) => `${verb} ${resource}`)).toEqual([
    ...['create resourcequotas', 'delete resourcequotas', 'create resourcequotas', 'create pods'],
  ])
  expect((await quotaOf(fleet, user)).metadata.uid).not.toBe(uid)
}

async function killInRecovery(trial: Trial): Promise<void> {
  const fleet = await trial.fleet({ ...(await fullLabFleet(trial, 2 * moments.length)), replicas: 2 })
  await fleet.kill(1)
  trial.injected(moments.length)
  const struck = await Promise.all(moments.map(places => miscounted(fleet, places)))
  const { pid } = fleet.replica(0)
  await fleet.start(1)
  await fleet.kill(0)
  await Promise.all(struck.map(each => expectRecounted(fleet, each)))
  trial.landed(struck.filter(({ held }) => held.marks()[0]!.pid === pid).length)
  await expectNothingLeft(
    fleet,
    struck.map(({ user }) => user),
  )
}

attack('T1 kill -9 while a quota is made anew', killInRecovery, { concurrent: true })
