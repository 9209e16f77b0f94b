/**
 * Notebooks that are asked at their Services. The API server allots the addresses in a range of 127.0.0.0/8, so servers of this
 * machine are there. Nothing forwards: what is tried is which address a process takes. While a range of addresses is new, the
 * API server allots none at all for a moment, so the cluster is these tests' own.
 */
import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../../dev/process/ports.ts'
import { stamps } from '../../../src/kube/labels.ts'
import { type OwnBox, startOwnBox } from '../../kit/cluster/own-box.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { FakeJupyter } from '../../kit/idle/fake-jupyter.ts'
import { NotebookFleet } from '../../kit/idle/notebook-fleet.ts'

const cidrs = '/apis/networking.k8s.io/v1/servicecidrs'
const range = `127.${randomInt(16, 250)}.${randomInt(0, 256)}`
const idle = { kernels: [{ state: 'idle', lastMs: Date.parse('2026-01-01T00:00:00Z') }] }

let box: OwnBox
let fleet: NotebookFleet
const servers: FakeJupyter[] = []

beforeAll(async () => {
  box = await startOwnBox(async made => made)
  fleet = await NotebookFleet.start({
    kubeconfig: box.cluster.kubeconfig,
    replicas: 1,
    idle: {
      ...{ checkPeriodSeconds: 1, probeTimeoutSeconds: 2, stopsPerMinute: 1000, stampsPerSecond: 100 },
      rules: [
        {
          ...{ name: 'mesh', sources: ['kernels'], match: { tenants: ['nbs-*'] }, address: 'service' },
          ...{ idleTimeoutSeconds: 3, warnSeconds: 0, unreachable: { afterSeconds: 2 } },
        },
      ],
    },
    network: { clusterRanges: [`${range}.0/25`] },
    // Else the rule matches none of them.
    isTenant: true,
    rights: [{ apiGroups: [''], resources: ['services', 'namespaces'], verbs: ['list', 'watch'] }],
  })
})
afterAll(async () => {
  await fleet?.stop()
  await Promise.all(servers.map(server => server.stop()))
  await box?.run.close()
})

async function server(address?: string): Promise<FakeJupyter> {
  const jupyter = await FakeJupyter.start(address, await freePort())
  servers.push(jupyter)
  jupyter.behave(idle)
  return jupyter
}

/** A notebook whose pod must never be asked: one server is at the pod, one at the Service, in this block of the range. */
async function notebook(name: string, block: number) {
  const clusterIP = `${range}.${block + 1}`
  const [pod, service] = [await server(), await server(clusterIP)]
  const { kube } = fleet.kubeflow
  const metadata = { name: `${fleet.name}-${name}` }
  const spec = { cidrs: [`${range}.${block}/29`] }
  const made = await kube.request('POST', cidrs, {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    metadata,
    spec,
  })
  expect(made.status).toBe(201)
  await eventually('a Service at that address', async () => {
    const of = { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: fleet.name } }
    const ports = [{ port: service.port, targetPort: pod.port }]
    const path = `/api/v1/namespaces/${fleet.name}/services`
    return (await kube.request('POST', path, { ...of, spec: { clusterIP, ports } })).status === 201
  })
  // It goes with the Service, and no Service of another test gets an address there.
  await kube.request('DELETE', `${cidrs}/${metadata.name}`)
  await fleet.kubeflow.notebook(name, pod)
  return { pod, service }
}

const isStopped = async (name: string) => stamps.stopped in (await fleet.kubeflow.annotations('Notebook', name))

test.concurrent('a notebook is asked at the address and the port of its Service, and never at its pod', async () => {
  const { pod, service } = await notebook('inside', 0)
  await eventually('it is stopped', () => isStopped('inside'))
  expect(service.asked.length).toBeGreaterThan(1)
  for (const { path } of service.asked) {
    expect(path).toBe(`/notebook/${fleet.name}/inside/api/kernels?no_track_activity=1`)
  }
  expect(pod.asked).toEqual([])
})

test.concurrent('a notebook is not asked when its Service is outside of network.clusterRanges', async () => {
  const { pod, service } = await notebook('outside', 200)
  await eventually('its first check', async () => {
    const { body } = await fleet.ask('admin', `/admin/v1/notebook/${fleet.name}/outside`)
    const { state, rule } = body as Record<string, unknown>
    return state === 'unknown' && rule === 'mesh'
  })
  expect(await isStopped('outside')).toBe(false)
  expect([...pod.asked, ...service.asked]).toEqual([])
})
