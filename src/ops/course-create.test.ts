/** Whole creations, by an owner that begins or resumes them. */
import { describe, expect, it } from 'vitest'
import { render } from '../../test/kit/labs/plan.ts'
import type { KubeObject } from '../base/domain.ts'
import { withOwnership } from '../labs/render.ts'
import type { LabRecord, NewEvent } from '../store/records.ts'
import { trust, user } from './testing/cluster.ts'
import { ObjectServer } from './testing/objects.ts'
import { makeRun } from './testing/run.ts'

const plan = render({ identity: { username: user } })
const containerStatuses = [{ name: 'lab', started: true, ready: true, restartCount: 0, state: { running: {} } }]

/** Operation 7 creates a lab whose pod starts at once. `earlier`: the stream's events so far. */
function creation(record: Partial<LabRecord> = {}, earlier: readonly NewEvent[] = []) {
  const sealedPlan = JSON.stringify(plan)
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
    for (const object of plan.objects.slice(0, count)) server.put(withOwnership(object, 7, uid))
  }
  const requests = (verb: string) => server.requests.filter(request => request.startsWith(verb))
  return { ...made, server, inherit, requests }
}

describe('runCourse, for a creation,', () => {
  it('writes its last step with the end when nothing disturbs it', async () => {
    const { run, written, requests } = creation()
    await run.run()
    expect(written.map(({ outcome, fields }) => outcome ?? fields.step).slice(-2)).toEqual(['start', 'running'])
    expect(written.at(-1)!.events).toEqual([
      ['info', 'The lab is up'],
      ['progress', '100'],
      ['complete', 'Operation complete for ada'],
    ])
    expect(requests('create')).toHaveLength(plan.objects.length + 1)
    expect(requests('get')).toEqual([])
  })

  it('writes no last event that a former owner wrote', async () => {
    const up: NewEvent = ['info', 'The lab is up']
    const { run, written } = creation({ claims: 2 }, [up])
    await run.run()
    expect(written.at(-1)!.events.map(([, data]) => data)).toEqual(['100', 'Operation complete for ada'])
  })
})
