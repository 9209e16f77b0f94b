/** A StatefulSet that nobody uses, on an installation in the cluster: its annotation says so, and its pod goes. */
import { systemClock } from '../../src/base/clock.ts'
import { idleLabel } from '../../src/idle/notebooks/objects.ts'
import { stamps } from '../../src/kube/labels.ts'
import { roundSeconds } from '../demo/say.ts'
import type { Kubectl } from '../kube/kubectl.ts'
import { waitUntil } from '../process/api-client.ts'

export interface ShownNotebook {
  readonly name: string
  /** The annotation of the stop. */
  readonly stoppedAt: string
  /** From its readiness until its pod was gone. */
  readonly seconds: number
}

const name = 'jupyter'
const namespace = 'team'
const port = 8888
const set = ['statefulset', name, '-n', namespace]
/** A minute without activity, a check each minute, and a pod that may take half a minute to end. */
const stopLimitMs = 240_000

/** As Jupyter shows a kernel that was used once. Run with the controller's own image, which contains only Node. */
const program = `
import { createServer } from 'node:http'
const kernel = { id: 'k', name: 'python3', execution_state: 'idle', connections: 0, last_activity: new Date().toISOString() }
createServer(({ url }, answer) => {
  answer.setHeader('Content-Type', 'application/json')
  answer.end(JSON.stringify(url.includes('/api/kernels') ? [kernel] : []))
}).listen(${port})
process.once('SIGTERM', () => process.exit())
`

function objects(image: string): readonly object[] {
  const labels = { app: name }
  const command = ['/usr/local/bin/node', '--input-type=module', '--eval', program]
  const ports = [{ containerPort: port }]
  const container = { name, image, command, ports, readinessProbe: { tcpSocket: { port }, periodSeconds: 1 } }
  const template = { metadata: { labels }, spec: { automountServiceAccountToken: false, containers: [container] } }
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    {
      ...{ apiVersion: 'apps/v1', kind: 'StatefulSet' },
      metadata: { name, namespace, labels: { [idleLabel]: 'true' } },
      spec: { replicas: 1, serviceName: name, selector: { matchLabels: labels }, template },
    },
  ]
}

/** Makes it as a person with rights in a namespace does, waits until it is stopped, and deletes it again. */
export async function showNotebook(kubectl: Kubectl, image: string, signal?: AbortSignal): Promise<ShownNotebook> {
  const items = objects(image)
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await kubectl(['apply', '--server-side', '-f', '-'], { input })
  await kubectl(['rollout', 'status', `statefulset/${name}`, '-n', namespace, '--timeout=120s'])
  const begunMs = systemClock.monotonicMs()
  const pods = () => kubectl(['get', 'pods', '-n', namespace, '-l', `app=${name}`, '-o', 'name'])
  await waitUntil(async () => (await pods()).trim() === '', {
    ...{ what: `the stop of ${namespace}/${name}`, limitMs: stopLimitMs, signal },
  })
  const seconds = roundSeconds(systemClock.monotonicMs() - begunMs)
  const { metadata, spec } = JSON.parse(await kubectl(['get', ...set, '-o', 'json']))
  const stoppedAt = metadata.annotations?.[stamps.stopped]
  if (stoppedAt === undefined || spec.replicas !== 0)
    throw new Error(`${namespace}/${name} has no pod, and is not stopped`)
  await kubectl(['delete', 'namespace', namespace, '--wait=false'])
  return { name: `${namespace}/${name}`, stoppedAt, seconds }
}
