/** Notebooks of Kubeflow and labelled StatefulSets that nobody uses, with two processes that look at them. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../../dev/process/ports.ts'
import { stamps } from '../../../src/kube/labels.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { AuditLog } from '../../kit/evidence/audit.ts'
import { type Behaviour, FakeJupyter } from '../../kit/idle/fake-jupyter.ts'
import { NotebookFleet } from '../../kit/idle/notebook-fleet.ts'
import { testBed } from '../../kit/testbed.ts'

const timeoutMs = 4_000
const idleConfig = {
  ...{ checkPeriodSeconds: 1, probeTimeoutSeconds: 2, stopsPerMinute: 1000, stampsPerSecond: 100 },
  rules: [
    {
      ...{ name: 'quick', sources: ['kernels' as const], match: { namespaces: ['nbs-*'] } },
      ...{ idleTimeoutSeconds: timeoutMs / 1000, warnSeconds: 0, unreachable: { afterSeconds: 2 } },
    },
  ],
}

const idle: Behaviour = { kernels: [{ state: 'idle', lastMs: Date.parse('2026-01-01T00:00:00Z') }] }
const busy: Behaviour = { kernels: [{ state: 'busy', lastMs: 0 }] }
const times = [stamps.lastActivity, stamps.checked]

describe('two processes for notebooks', () => {
  let fleet: NotebookFleet
  let audit: AuditLog
  const servers: FakeJupyter[] = []

  beforeAll(async () => {
    audit = new AuditLog(testBed().auditLog)
    fleet = await NotebookFleet.start({ idle: idleConfig })
  })
  afterAll(async () => {
    await fleet?.stop()
    await Promise.all(servers.map(jupyter => jupyter.stop()))
  })

  async function server(behaviour: Behaviour): Promise<FakeJupyter> {
    // Another process of this machine may have Jupyter's port at all addresses.
    const jupyter = await FakeJupyter.start(undefined, await freePort())
    servers.push(jupyter)
    jupyter.behave(behaviour)
    return jupyter
  }

  async function notebook(name: string, behaviour: Behaviour): Promise<FakeJupyter> {
    const jupyter = await server(behaviour)
    await fleet.kubeflow.notebook(name, jupyter)
    return jupyter
  }

  const annotations = (name: string) => fleet.kubeflow.annotations('Notebook', name)
  const isStopped = async (name: string) => stamps.stopped in (await annotations(name))
  const stopped = (name: string) => eventually(`${name} is stopped`, () => isStopped(name))
  const replicasOf = async (name: string) =>
    (await fleet.kubeflow.get('StatefulSet', name))?.spec as { replicas: number }
  const isGone = async (name: string) => (await fleet.kubeflow.podUid(name)) === undefined
  const state = async (name: string) => {
    const { body } = await fleet.ask('admin', `/admin/v1/notebook/${fleet.name}/${name}`)
    return body as Record<string, unknown>
  }

  test.concurrent('an idle notebook is stopped by its annotation, after its time-out, by one of them', async () => {
    const jupyter = await notebook('idle', idle)
    await jupyter.untilAsked(1)
    const firstMs = jupyter.asked[0]!.atMs
    await stopped('idle')
    expect(Date.parse((await annotations('idle'))[stamps.stopped]!)).toBeGreaterThan(firstMs + timeoutMs - 1000)
    for (const { path, authorization } of jupyter.asked) {
      expect(path).toBe(`/notebook/${fleet.name}/idle/api/kernels?no_track_activity=1`)
      expect(authorization).toBeUndefined()
    }
    await eventually('its pod is gone', () => isGone('idle'))
    expect(await replicasOf('idle')).toMatchObject({ replicas: 0 })
    expect(Object.keys(await annotations('idle'))).toEqual([stamps.stopped])
    const labels = `{namespace="${fleet.name}",name="idle"}`
    expect(await fleet.metric('notebook_culling_total', labels)).toBe(1)
    expect(await fleet.metric('last_notebook_culling_timestamp_seconds', labels)).toBeGreaterThan(firstMs / 1000)
    await eventually('the end of its checks', async () => (await state('idle')).state === 'stopped')
    expect(await state('idle')).toMatchObject({
      stopped: { why: 'stopped after 4 s without activity (rule quick)' },
    })
  })

  test.concurrent('a busy notebook runs on, with one write for each look', async () => {
    const begunMs = performance.now()
    const jupyter = await notebook('busy', busy)
    await jupyter.untilAsked(10, AbortSignal.timeout(60_000))
    expect(await isStopped('busy')).toBe(false)
    const written = await annotations('busy')
    expect(Object.keys(written).sort()).toEqual(times.toSorted())
    for (const name of times) expect(Date.parse(written[name]!)).toBeGreaterThan(Date.now() - 10_000)
    const requests = (await audit.requestsOf(fleet.name)).filter(
      ({ resource, name, verb, sender }) =>
        resource === 'notebooks' && name === 'busy' && verb === 'patch' && sender.includes('skylab-notebooks'),
    )
    expect(requests.length).toBeGreaterThan(5)
    // A look each second. On a busy machine one may end before its question leaves, and is written all the same.
    expect(requests.length).toBeLessThanOrEqual((performance.now() - begunMs) / 1000 + 2)
  })

  test.concurrent('a notebook that does not answer is never stopped, and is when it answers that it is idle', async () => {
    const jupyter = await notebook('silent', { status: 500 })
    await jupyter.untilAsked(5, AbortSignal.timeout(60_000))
    expect(jupyter.asked.at(-1)!.atMs - jupyter.asked[0]!.atMs).toBeGreaterThan(2 * timeoutMs)
    expect(await state('silent')).toMatchObject({ state: 'unknown' })
    expect(await isStopped('silent')).toBe(false)
    jupyter.behave(idle)
    await stopped('silent')
  })

  test.concurrent('the annotation by hand stops a notebook, and its removal starts it with times of its own', async () => {
    const jupyter = await notebook('hand', busy)
    await eventually('its first times', async () => times.every(async name => name in (await annotations('hand'))))
    await jupyter.untilAsked(2)
    const pod = await fleet.kubeflow.podUid('hand')
    await fleet.kubeflow.annotate('Notebook', 'hand', { [stamps.stopped]: 'by hand' })
    const left = async () => Object.keys(await annotations('hand'))
    await eventually('both times are removed', async () => (await left()).join() === stamps.stopped)
    await eventually('its pod is gone', () => isGone('hand'))
    await eventually('no state', async () => (await state('hand')).state === undefined)
    const asked = jupyter.asked.length
    const beganMs = Date.now()
    await fleet.kubeflow.annotate('Notebook', 'hand', { [stamps.stopped]: null })
    await jupyter.untilAsked(asked + 1)
    expect(await fleet.kubeflow.podUid('hand')).not.toBe(pod)
    await eventually('its times are back', async () => (await left()).length === 2)
    expect(Date.parse((await annotations('hand'))[stamps.lastActivity]!)).toBeGreaterThanOrEqual(beganMs - 1000)
  })

  test.concurrent('an edit since the look wins over the stop, and the notebook is looked at anew', async () => {
    const user = `notebook:${fleet.name}/edited`
    const held = fleet.failpoints.arm('idle.requested', 'hold', { user })
    const jupyter = await notebook('edited', idle)
    await held.landed()
    await fleet.kubeflow.annotate('Notebook', 'edited', { edit: 'mine' })
    held.release()
    const said = `"id":"${fleet.name}/edited"`
    const isKept = (line: string) => line.includes(said) && line.includes('is not stopped, since it changed')
    await eventually('the refusal', async () => fleet.log().split('\n').some(isKept))
    expect(await isStopped('edited')).toBe(false)
    const asked = jupyter.asked.length
    await stopped('edited')
    expect(jupyter.asked.length).toBeGreaterThan(asked)
    expect(await annotations('edited')).toMatchObject({ edit: 'mine' })
  })

  test.concurrent('a labelled StatefulSet is stopped, and scaled by the annotation; another one is left alone', async () => {
    const labelled = await server(idle)
    const plain = await server(idle)
    await fleet.kubeflow.set('labelled', labelled, { 'user.skylab/idle': 'true' })
    await fleet.kubeflow.set('plain', plain)
    const ofSet = () => fleet.kubeflow.annotations('StatefulSet', 'labelled')
    await eventually('the annotation', async () => stamps.stopped in (await ofSet()))
    await eventually('no replica', async () => (await replicasOf('labelled')).replicas === 0)
    await eventually('its pod is gone', () => isGone('labelled'))
    labelled.behave(busy)
    await fleet.kubeflow.annotate('StatefulSet', 'labelled', { [stamps.stopped]: null })
    await eventually('one replica', async () => (await replicasOf('labelled')).replicas === 1)
    await labelled.nextAsked()
    await eventually('its times', async () => times.every(async name => name in (await ofSet())))
    await fleet.kubeflow.annotate('StatefulSet', 'labelled', { [stamps.stopped]: 'by hand' })
    await eventually('no replica again', async () => (await replicasOf('labelled')).replicas === 0)
    expect(plain.asked).toEqual([])
    expect(await fleet.kubeflow.annotations('StatefulSet', 'plain')).toEqual({})
  })

  test.concurrent('an administrator reads and keeps a notebook, and nobody else does', async () => {
    const jupyter = await notebook('asked', busy)
    await jupyter.untilAsked(2)
    const path = `notebook/${fleet.name}/asked`
    await eventually('its state', async () => (await state('asked')).state === 'active')
    expect(await state('asked')).toMatchObject({
      kind: 'notebook',
      id: `${fleet.name}/asked`,
      source: 'kernels',
      rule: 'quick',
    })
    expect((await fleet.ask('ada', `/v1/${path}`)).status).toBe(404)
    expect((await fleet.ask('ada', `/admin/v1/${path}`)).status).toBe(403)
    const keep = { method: 'POST', body: JSON.stringify({ seconds: 60 }) }
    expect((await fleet.ask('ada', `/v1/${path}/keep-alive`, keep)).status).toBe(404)
    expect((await fleet.ask('admin', `/admin/v1/${path}/keep-alive`, keep)).status).toBe(200)
    await eventually('the annotation', async () => stamps.keepUntil in (await annotations('asked')))
    jupyter.behave(idle)
    await jupyter.untilAsked(jupyter.asked.length + 8)
    expect(await isStopped('asked')).toBe(false)
    expect((await fleet.ask('admin', `/admin/v1/${path}/keep-alive`, { method: 'DELETE' })).status).toBe(204)
    await stopped('asked')
    const { body } = await fleet.ask('admin', '/admin/v1/policy')
    expect(body).toMatchObject({ kinds: ['notebook', 'statefulset'], rules: [{ name: 'quick' }] })
  })

  // After the others, whose metrics and answers would be gone with the process.
  test('another process stops it when one is killed between the request and the annotation', async () => {
    const killed = fleet.failpoints.arm('idle.requested', 'kill', { user: `notebook:${fleet.name}/orphan` })
    const jupyter = await notebook('orphan', idle)
    await killed.landed()
    const asked = jupyter.asked.length
    expect(await isStopped('orphan')).toBe(false)
    await stopped('orphan')
    expect(jupyter.asked.length).toBeGreaterThan(asked)
  })
})

describe('a process in the place of Kubeflow’s culler', () => {
  test('it has its environment as the last rule, and says which value it does not take', async () => {
    const env = { ENABLE_CULLING: 'true', CULL_IDLE_TIME: 'a day', IDLENESS_CHECK_PERIOD: '2', DEV: 'false' }
    const fleet = await NotebookFleet.start({ replicas: 1, idle: {}, env })
    onTestFinished(() => fleet.stop())
    const { body } = await fleet.ask('admin', '/admin/v1/policy')
    expect(body).toMatchObject({
      checkPeriodSeconds: 120,
      rules: [
        {
          ...{ name: 'environment', match: { kinds: ['notebook'] }, sources: ['kernels'] },
          ...{ idleTimeoutSeconds: 86_400, warnSeconds: 0 },
        },
      ],
    })
    expect(fleet.log()).toContain('CULL_IDLE_TIME: is not a whole number of minutes, so the default of 1440 counts')
  })
})
