import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../base/domain.ts'
import { projectPod } from '../../kube/pods/project.ts'
import { podObject } from '../testing/cluster.ts'
import { graceMs, inPhase, makeMonitor } from '../testing/monitor.ts'

const stateMs = 600
const mark = { value: 'm', identity: 'i', needed: false, foundOp: 0, nowMs: 0 }

const crashing: KubeObject = {
  ...podObject(),
  status: {
    phase: 'Running',
    containerStatuses: [
      {
        ...{ name: 'notebook', started: false, ready: false, restartCount: 0 },
        state: { waiting: { reason: 'CrashLoopBackOff' } },
        lastState: { terminated: { exitCode: 1, reason: 'Error' } },
      },
    ],
  },
}
const unknown = inPhase('Unknown')
const another: KubeObject = { ...unknown, metadata: { ...unknown.metadata, uid: 'another' } }

/** A monitor that has judged this pod once. */
async function inTrouble(object: KubeObject) {
  const made = makeMonitor()
  made.monitor.start()
  made.showPod(object)
  await made.pass(stateMs)
  const graceEnds = () => made.pass(graceMs + 100)
  return { ...made, graceEnds }
}

describe('Monitor, when a trouble has lasted,', () => {
  it.each([
    ['its node is silent', unknown],
    ['it crashes', crashing],
  ])('records the failure of a pod, and asks for the pod once, when %s', async (_, object) => {
    const { cluster, written, showPod, pass, graceEnds } = await inTrouble(object)
    expect(cluster.requests).toEqual([])
    await graceEnds()
    expect(written).toEqual(['failed'])
    showPod(object)
    await pass(stateMs)
    expect(written).toEqual(['failed'])
    expect(cluster.requests).toEqual(['get Pod'])
  })

  it.each([
    ['is well', unknown, inPhase('Running')],
    ['is well', crashing, inPhase('Running')],
    ['has another trouble', unknown, crashing],
    ['has another trouble', crashing, unknown],
    ['is another one', unknown, another],
    ['is gone', unknown, undefined],
  ])('records nothing when the pod %s, which the watch does not show yet', async (_, seen, real) => {
    const { cluster, written, graceEnds } = await inTrouble(seen)
    cluster.real = { ...cluster.seen, pod: real }
    await graceEnds()
    expect(cluster.requests).toEqual(['get Pod'])
    expect(written).toEqual([])
  })

  it('records the failure when the trouble is back after the pod was well for a moment', async () => {
    const { cluster, written, showPod, pass, graceEnds } = await inTrouble(unknown)
    cluster.real = { ...cluster.seen, pod: inPhase('Running') }
    await graceEnds()
    expect(written).toEqual([])
    showPod(unknown)
    await pass(stateMs)
    expect(written).toEqual(['failed'])
  })

  it.each([
    ['is well', inPhase('Running'), []],
    ['is still in trouble', unknown, ['failed']],
  ])('records for a compare by the state of the pod, which %s, and not by its list', async (_, real, outcomes) => {
    const { cluster, monitor, written, pass } = makeMonitor()
    cluster.real = { ...cluster.seen, pod: real }
    await monitor.judge(projectPod(unknown), mark)
    await pass(graceMs)
    expect(cluster.requests).toEqual([])
    await monitor.judge(projectPod(unknown), mark)
    expect(cluster.requests).toEqual(['get Pod'])
    expect(written).toEqual(outcomes)
  })

  it.each(['Running', 'Failed', 'Succeeded'])('asks for no pod whose trouble need not last: %s', async phase => {
    const { cluster } = await inTrouble(inPhase(phase))
    expect(cluster.requests).toEqual([])
  })
})
