/** Whole creations, by an owner that begins or resumes them. */
import { describe, expect, it } from 'vitest'
import { render } from '../../test/kit/labs/plan.ts'
import type { KubeObject } from '../base/domain.ts'
import { KubeError } from '../kube/client.ts'
import { withOwnership } from '../labs/render.ts'
import type { LabRecord, NewEvent } from '../store/records.ts'
import { trust, user } from './testing/cluster.ts'
import { ObjectServer } from './testing/objects.ts'
import { makeRun } from './testing/run.ts'

const identity = { username: user, quota: { spawn: true, cpu: 4, memoryBytes: 2 ** 34 } }
const plan = render({ identity: { username: user } })
const countedPlan = render({ identity })
const containerStatuses = [{ name: 'lab', started: true, ready: true, restartCount: 0, state: { running: {} } }]

/** Operation 7 creates a lab whose pod starts at once. `earlier`: the stream's events so far. */
function creation(record: Partial<LabRecord> = {}, earlier: readonly NewEvent[] = [], planned = plan) {
  const sealedPlan = JSON.stringify(planned)
  const status = { kind: 'create', status: 'pending', acting: true, attempts: 1 } as const
  const made = makeRun({ ...status, sealedPlan, ...record }, {}, earlier)
  const server = new ObjectServer()
  Object.assign(made.cluster.kube, server.kube)
  const show = (object: KubeObject) => {
    const { cluster } = made
    if (object.kind === 'Namespace') cluster.real = { namespace: object }
    if (object.kind === 'Pod') cluster.real.pod = { ...object, status: { phase: 'Running', containerStatuses } }
    cluster.show()
  }
  const create = server.kube.create.bind(server.kube)
  made.cluster.kube.create = async (...args) => {
    const object = await create(...args)
    show(object)
    return object
  }
  made.cluster.real = {}
  made.cluster.show()
  /** Puts what a former owner made: the namespace and the first objects of its content. */
  const inherit = (count: number, uid: string) => {
    const { metadata, ...rest } = trust.signed(withOwnership(plan.namespace, 7, null))
    show(server.put({ ...rest, metadata: { ...metadata, uid } }))
    for (const object of planned.objects.slice(0, count)) server.put(withOwnership(object, 7, uid))
  }
  const requests = (verb: string) => server.requests.filter(request => request.startsWith(verb))
  return { ...made, server, inherit, requests }
}

describe('runCourse, for a creation,', () => {
  it('writes three steps and the end when nothing disturbs it', async () => {
    const { run, written, requests } = creation()
    await run.run()
    expect(written.map(({ outcome, fields }) => outcome ?? fields.step)).toEqual([
      ...['make.content', 'make.pod', 'start'],
      'running',
    ])
    expect(written.flatMap(({ events }) => events).filter(([event]) => event === 'progress')).toEqual([
      ['progress', '8'],
      ['progress', '35'],
      ['progress', '40'],
      ['progress', '100'],
    ])
    expect(written.at(-1)!.events).toEqual([
      ['info', 'The lab is up'],
      ['progress', '100'],
      ['complete', 'Operation complete for ada'],
    ])
    expect(requests('create')).toHaveLength(plan.objects.length + 1)
    expect(requests('get')).toEqual([])
  })

  it.each([
    ['an earlier release, amid its objects', 'make.secret-env'],
    ['a later release', 'make.of-a-later-release'],
    ['an earlier release, after the last one', ''],
  ])('begins anew and adopts what stands when the record has a step of %s', async (_, step) => {
    const earlier: NewEvent[] = [['info', 'Created the namespace nublado-ada']]
    const { run, written, inherit, requests, server, pass } = creation({ step, claims: 2, progress: 20 }, earlier)
    const namespaceUid = 'uid-of-the-former-owner'
    inherit(3, namespaceUid)
    await pass(run.run(), 5_000)
    expect(written.at(-1)).toMatchObject({ outcome: 'running', fields: { namespaceUid } })
    expect(requests('delete')).toEqual([])
    for (const { kind, metadata } of plan.objects) expect(server.get(kind, metadata.name)).toBeDefined()
    expect(written.flatMap(({ events }) => events)).not.toContainEqual(earlier[0])
  })

  it('resumes amid its content with the objects that are missing', async () => {
    const namespaceUid = 'uid-of-the-former-owner'
    const { run, written, inherit, requests } = creation({ step: 'make.content', claims: 2, namespaceUid })
    inherit(3, namespaceUid)
    await run.run()
    expect(written.at(-1)).toMatchObject({ outcome: 'running' })
    expect(requests('create RoleBinding')).toHaveLength(1)
    expect(requests('get')).toHaveLength(3)
  })

  it('writes no last event that a former owner wrote', async () => {
    const up: NewEvent = ['info', 'The lab is up']
    const { run, written } = creation({ claims: 2 }, [up])
    await run.run()
    expect(written.at(-1)!.events.map(([, data]) => data)).toEqual(['100', 'Operation complete for ada'])
  })
})

describe('runCourse, for a creation whose quota counts a pod that was never stored,', () => {
  const namespaceUid = 'uid-of-the-former-owner'
  const used = { 'limits.cpu': '4', 'requests.cpu': '1' }
  const words =
    'pods "nb-ada" is forbidden: exceeded quota: nb-ada, requested: limits.cpu=4, used: limits.cpu=4, limited: limits.cpu=4'

  /** All that a former owner made but the pod; the quota counts that, until it is made anew. */
  function counted(record: Partial<LabRecord>) {
    const made = creation({ claims: 2, namespaceUid, ...record }, [], countedPlan)
    const { server, inherit } = made
    inherit(countedPlan.objects.length - 1, namespaceUid)
    const quota = server.put({ ...server.get('ResourceQuota', 'nb-ada')!, status: { used } })
    server.onCreate = ({ kind }) => {
      const standing = server.get('ResourceQuota', 'nb-ada')
      if (kind === 'Pod' && standing?.status) throw new KubeError(403, 'Forbidden', words)
    }
    return { ...made, quota, remade: () => server.get('ResourceQuota', 'nb-ada')! }
  }

  it('makes the quota anew, once its UID is recorded, and then the pod', async () => {
    const { run, written, requests, remade, quota, pass } = counted({ step: 'make.pod' })
    await pass(run.run(), 10_000)
    const { uid } = quota.metadata
    expect(written[0]).toMatchObject({ fields: { namespaceUid, miscounted: uid, step: 'make.content' } })
    expect(remade().metadata.uid).not.toBe(uid)
    expect(written.at(-1)).toMatchObject({ outcome: 'running' })
    expect(requests('delete')).toEqual(['delete ResourceQuota nb-ada'])
    const told = written.flatMap(({ events }) => events).map(([, data]) => data)
    expect(told.filter(data => data.startsWith('Created'))).toEqual([
      'Created the namespace nublado-ada',
      'Created the pod of the lab',
    ])
  })

  it('tells once that it made the namespace when one owner has done all', async () => {
    const { run, server, written, pass } = creation({}, [], countedPlan)
    let attempts = 0
    server.onCreate = ({ kind }) => {
      if (kind !== 'Pod' || ++attempts > 1) return
      server.put({ ...server.get('ResourceQuota', 'nb-ada')!, status: { used } })
      throw new KubeError(403, 'Forbidden', words)
    }
    await pass(run.run(), 10_000)
    expect([written.at(-1)!.outcome, attempts]).toEqual(['running', 2])
    const told = written.flatMap(({ events }) => events).map(([, data]) => data)
    expect(told.filter(data => data.startsWith('Created the namespace'))).toHaveLength(1)
  })

  it('makes it anew when a former owner has recorded that, and makes no pod before', async () => {
    const { run, written, requests, quota, remade, pass } = counted({ step: 'make.content', miscounted: 'quota' })
    Object.assign(quota.metadata, { uid: 'quota' })
    await pass(run.run(), 10_000)
    expect(requests('create Pod')).toHaveLength(1)
    expect(remade().metadata.uid).not.toBe('quota')
    expect(written.at(-1)).toMatchObject({ outcome: 'running' })
  })
})
