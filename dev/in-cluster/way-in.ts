/** The way that users have to a Service behind an ingress: a pod in the place of ingress-nginx, where NetworkPolicies expect it. */
import type { Kubectl } from '../kube/kubectl.ts'
import { waitUntil } from '../process/api-client.ts'

const name = 'ingress-nginx'
const port = 8080
const readyLimitMs = 30_000

/** Passes requests on to the Service by its name, over TLS. */
const program = `
import { createServer } from 'node:http'
import { request } from 'node:https'
const { AUTHORITY: ca, SERVICE: host } = process.env
createServer((asked, answer) => {
  const fail = () => { if (!answer.headersSent) answer.writeHead(502); answer.end() }
  const headers = { ...asked.headers, host: host + ':${port}' }
  const inner = request({ ca, host, port: ${port}, method: asked.method, path: asked.url, headers }, reply => {
    answer.writeHead(reply.statusCode, reply.headers)
    reply.on('error', fail).pipe(answer)
  })
  asked.on('error', fail).pipe(inner.on('error', fail))
}).listen(${port})
`

export interface WayIn {
  /** Of what is behind it; this machine can reach it. */
  readonly url: string
  close(): Promise<void>
}

export interface WayInOptions {
  readonly kubectl: Kubectl
  /** An image with Node. */
  readonly image: string
  /** Name of the Service in the cluster. */
  readonly service: string
  /** PEM of the authority of its certificate. */
  readonly authority: string
  readonly signal?: AbortSignal | undefined
}

export async function openWayIn({ kubectl, image, service, authority, signal }: WayInOptions): Promise<WayIn> {
  const container = {
    ...{ name, image, command: ['/usr/local/bin/node', '--input-type=module', '--eval', program] },
    env: Object.entries({ AUTHORITY: authority, SERVICE: service }).map(([key, value]) => ({ name: key, value })),
    readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
  }
  const labels = { 'app.kubernetes.io/name': name }
  const items = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: name, labels } },
      spec: { automountServiceAccountToken: false, terminationGracePeriodSeconds: 0, containers: [container] },
    },
  ]
  const pod = ['pod', name, '-n', name]
  // The account `default` of a new namespace comes a moment later.
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  const made = async () => (await kubectl(['apply', '--server-side', '-f', '-'], { input })) !== ''
  await waitUntil(made, { what: 'the pod of the ingress', limitMs: readyLimitMs, signal })
  await kubectl(['wait', '--for=condition=Ready', ...pod, '--timeout=60s'])
  const address = (await kubectl(['get', ...pod, '-o', 'jsonpath={.status.podIP}'])).trim()
  return {
    url: `http://${address}:${port}`,
    close: async () => void (await kubectl(['delete', 'namespace', name, '--wait=false'])),
  }
}
