import { describe, expect, it } from 'vitest'
import { render } from '../../test/kit/labs/plan.ts'
import type { KubeObject } from '../base/domain.ts'
import { NeedsSomeone, RetryLater } from '../base/errors.ts'
import { KubeError } from '../kube/client.ts'
import { withOwnership } from '../labs/render.ts'
import type { LabKnown } from './lab-context.ts'
import { hadCounted, isMiscounted, refusedByQuota } from './quota.ts'
import { StartOver } from './steps.ts'
import { FakeCluster, fakeContext, podObject, user } from './testing/cluster.ts'
import { ObjectServer } from './testing/objects.ts'

const quota = { spawn: true, cpu: 4, memoryBytes: 2 ** 34 }
const namespaceUid = 'uid-of-nublado-ada'
const refusalOf = (used: string) =>
  new KubeError(
    403,
    'Forbidden',
    `pods "nb-ada" is forbidden: exceeded quota: nb-ada, requested: limits.cpu=4,limits.memory=8Gi, used: ${used}, limited: limits.cpu=4,limits.memory=8Gi`,
  )
const counted = refusalOf('limits.cpu=4,limits.memory=8Gi')

/** Operation 7 was refused its pod. The quota has counted this. */
function refused(used: Readonly<Record<string, string>> | undefined, identity: object = { quota }) {
  const plan = render({ identity: { username: user, ...identity } })
  const server = new ObjectServer()
  const planned = plan.objects.find(({ kind }) => kind === 'ResourceQuota')
  if (planned && used) server.put({ ...withOwnership(planned, 7, namespaceUid), status: { used } })
  const known: LabKnown = { namespaceUid, podUid: undefined, doubt: false }
  const { context } = fakeContext(new FakeCluster(), { known, plan, kube: server.kube })
  const pod = plan.objects.at(-1)!
  const judged = (refusal: KubeError, object: KubeObject = pod) =>
    refusedByQuota(context, object, refusal).catch((error: unknown) => error)
  return { server, known, judged }
}

const full = { 'limits.cpu': '4', 'requests.cpu': '1', 'limits.memory': '8Gi' }
const none = { 'limits.cpu': '0', 'requests.cpu': '0', 'limits.memory': '0' }

describe('refusedByQuota', () => {
  it('begins anew with the UID of a quota that counts a pod although none exists', async () => {
    const { server, known, judged } = refused(full)
    const { uid } = server.get('ResourceQuota', 'nb-ada')!.metadata
    const error = await judged(counted)
    expect(error).toBeInstanceOf(StartOver)
    expect(isMiscounted({ known }, uid)).toBe(true)
    expect(server.requests.filter(request => request.startsWith('delete'))).toEqual([])
  })

  it('fails at once, and asks for nothing, when the quota had counted nothing', async () => {
    const { server, judged } = refused(none)
    const refusal = refusalOf('limits.cpu=0,limits.memory=0')
    const error = await judged(refusal)
    expect(error).toBeInstanceOf(NeedsSomeone)
    expect(error).toMatchObject({ message: `The lab is more than its quota allows: ${refusal.message}` })
    expect(server.requests).toEqual([])
  })

  it('fails at once when another pod exists, which the quota may count', async () => {
    const { server, known, judged } = refused(full)
    server.put({ ...podObject(), metadata: { ...podObject().metadata, name: 'other' } })
    expect(await judged(counted)).toBeInstanceOf(NeedsSomeone)
    expect(known.miscounted).toBeUndefined()
  })

  it('fails at once when the refused object is no pod', async () => {
    const { judged } = refused(full)
    expect(await judged(counted, { ...podObject(), kind: 'Secret' })).toBeInstanceOf(NeedsSomeone)
  })

  it.each([
    ['its quota counts nothing any more', none, undefined],
    ['its quota was not counted yet', {}, undefined],
    ['its quota is gone', undefined, undefined],
    ['the quota is somebody else’s', undefined, {}],
  ])('tries again when no pod exists, and %s', async (_, used, identity) => {
    const { known, judged } = refused(used, identity)
    const error = await judged(counted)
    expect(error).toBeInstanceOf(RetryLater)
    expect(error).toMatchObject({ message: expect.stringContaining(counted.message) })
    expect(known.miscounted).toBeUndefined()
  })
})

it.each([
  ['used: limits.cpu=4', refusalOf('limits.cpu=4').message, true],
  ['used: limits.cpu=0,pods=1', refusalOf('limits.cpu=0,pods=1').message, true],
  ['used: limits.cpu=10', refusalOf('limits.cpu=10').message, true],
  ['used: limits.cpu=0,limits.memory=0', refusalOf('limits.cpu=0,limits.memory=0').message, false],
  ['no count', 'pods "nb-ada" is forbidden: failed quota: nb-ada: must specify limits.cpu for: lab', false],
])('hadCounted judges a refusal with %s', (_, message, expected) => {
  expect(hadCounted(new KubeError(403, 'Forbidden', message))).toBe(expected)
})

it('isMiscounted knows no object without a UID when nothing is miscounted', () => {
  expect(isMiscounted({ known: { namespaceUid, podUid: undefined, doubt: false } }, undefined)).toBe(false)
})
