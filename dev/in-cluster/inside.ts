/** Asks the Service from a pod, by name only. */
import type { Kubectl } from '../kube/kubectl.ts'

const service = 'skylab.skylab.svc.cluster.local'

export interface InsideAnswer {
  /** The name in the cluster's DNS. */
  readonly name: string
  readonly address: string
  /** Status of `/readyz`, which the Service does not have, and of the API without a token. */
  readonly ready: number
  readonly api: number
  /** The node of the asking pod. */
  readonly node: string
}

/** Run with the controller's own image, which contains only Node. */
const program = `
import { lookup } from 'node:dns/promises'
import { setDefaultCACertificates } from 'node:tls'
setDefaultCACertificates([process.env.AUTHORITY])
const { address } = await lookup('${service}')
const ask = async path => (await fetch('https://${service}:8080' + path)).status
console.log(JSON.stringify({ address, ready: await ask('/readyz'), api: await ask('/nublado/spawner/v1/labs') }))
`

/** Runs a pod that resolves the Service's name and asks it; fails when the pod cannot. */
export async function askFromInside(kubectl: Kubectl, image: string, authority: string): Promise<InsideAnswer> {
  const name = 'skylab-asker'
  const args = ['--input-type=module', '--eval', program]
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      containers: [
        { name, image, command: ['/usr/local/bin/node', ...args], env: [{ name: 'AUTHORITY', value: authority }] },
      ],
    },
  }
  const asker = ['pod', name, '-n', 'default']
  await kubectl(['apply', '--server-side', '-f', '-'], { input: JSON.stringify(pod) })
  try {
    const ended = '--for=jsonpath={.status.containerStatuses[0].state.terminated.reason}'
    await kubectl(['wait', ended, `pod/${name}`, '-n', 'default', '--timeout=60s'])
    const node = await kubectl(['get', ...asker, '-o', 'jsonpath={.spec.nodeName}'])
    const log = await kubectl(['logs', name, '-n', 'default'])
    return { name: service, node, ...parse(log) }
  } finally {
    await kubectl(['delete', ...asker, '--wait=false'])
  }
}

function parse(log: string): Pick<InsideAnswer, 'address' | 'ready' | 'api'> {
  try {
    return JSON.parse(log)
  } catch {
    throw new Error(`a pod could not ask the Service: ${log.trim()}`)
  }
}
