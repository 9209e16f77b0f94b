/** What the Service answers to a pod that knows it by its name alone. */
import type { Kubectl } from '../kube/kubectl.ts'

const service = 'skylab.skylab.svc.cluster.local'

export interface InsideAnswer {
  /** What the cluster's DNS says. */
  readonly name: string
  readonly address: string
  /** Of `/readyz`, which the Service does not have, and of the API without a token. */
  readonly ready: number
  readonly api: number
  /** Where the asking pod ran. */
  readonly node: string
}

/** Run by the controller's own image, which has nothing but Node. */
const program = `
import { lookup } from 'node:dns/promises'
import { setDefaultCACertificates } from 'node:tls'
setDefaultCACertificates([process.env.AUTHORITY])
const { address } = await lookup('${service}')
const ask = async path => (await fetch('https://${service}:8080' + path)).status
console.log(JSON.stringify({ address, ready: await ask('/readyz'), api: await ask('/nublado/spawner/v1/labs') }))
`

/** Runs a pod that resolves the Service's name and asks it; fails when it cannot. */
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
    const told = await kubectl(['logs', name, '-n', 'default'])
    return { name: service, node, ...parse(told) }
  } finally {
    await kubectl(['delete', ...asker, '--wait=false'])
  }
}

function parse(told: string): Pick<InsideAnswer, 'address' | 'ready' | 'api'> {
  try {
    return JSON.parse(told)
  } catch {
    throw new Error(`a pod could not ask the Service: ${told.trim()}`)
  }
}
