/** One app on an installation in the cluster: its controller makes it Ready, and a gateway shows its page to its group alone. */
import { appParent, groupMark } from '../../src/apps/words.ts'
import { systemClock } from '../../src/base/clock.ts'
import { roundSeconds } from '../demo/say.ts'
import { waitUntil } from '../process/api-client.ts'
import { appGroup, gatewayUrl } from './apps.ts'
import type { InCluster } from './stack.ts'

export interface ShownApp {
  readonly name: string
  /** As `kubectl get phapplications` shows it. */
  readonly columns: string
  /** Statuses of its page: for ada, whose group it is, and for grace. */
  readonly member: number
  readonly stranger: number
  /** From its creation to Ready. */
  readonly seconds: number
}

const name = 'hello'
const { namespace } = appGroup
const port = 8080
const app = ['phapplication', name, '-n', namespace]
const words = 'Hello from an app'
/** Policies are enforced some seconds after they are applied. */
const readyLimitMs = 120_000
/** A gateway hears of a route by a bell, and looks itself if it heard none. */
const routeLimitMs = 30_000

/** Run with the labs' image, which has Python: the folder of an app is made with `mkdir` of its image. */
const program = `
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<h1>${words}</h1>")

ThreadingHTTPServer(("", ${port}), Page).serve_forever()
`

function objects(image: string): readonly object[] {
  const command = ['python3', '-c', program]
  const ports = [{ name: 'http', containerPort: port }]
  const container = { name, image, command, ports, readinessProbe: { tcpSocket: { port }, periodSeconds: 1 } }
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels: groupMark } },
    {
      ...{ ...appParent, metadata: { name, namespace } },
      spec: {
        ...{ displayName: 'Hello', groupName: appGroup.name, scope: 'group', httpPort: port },
        podTemplate: { spec: { containers: [container] } },
        svcTemplate: { spec: { ports: [{ name: 'http', port, targetPort: port }] } },
      },
    },
  ]
}

type Site = Pick<InCluster, 'kubectl' | 'labImage' | 'users'>

/** Makes it as a person with rights in its namespace does, looks at it as two people, and deletes it again. */
export async function showApp({ kubectl, labImage, users }: Site, signal?: AbortSignal): Promise<ShownApp> {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects(labImage) })
  await kubectl(['apply', '--server-side', '-f', '-'], { input })
  const begunMs = systemClock.monotonicMs()
  const status = (field: string) => kubectl(['get', ...app, '-o', `jsonpath={.status.${field}}`])
  const isReady = async () => (await status('phase')).trim() === 'Ready'
  const what = `the app ${namespace}/${name}`
  await waitUntil(isReady, { what, limitMs: readyLimitMs, signal }).catch(async error => {
    throw new Error(`${error.message}: ${await status('message')}`)
  })
  const seconds = roundSeconds(systemClock.monotonicMs() - begunMs)
  const columns = (await kubectl(['get', ...app, '--no-headers'])).trim()
  const member = await statusFor(users.ada!.token, signal)
  const stranger = await statusFor(users.grace!.token, signal)
  if (member !== 200 || stranger !== 403) throw new Error(`its group got ${member}, a stranger ${stranger}`)
  await kubectl(['delete', 'namespace', namespace, '--wait=false'])
  return { name: `${namespace}/${name}`, columns, member, stranger, seconds }
}

/** The status of the app's page after a login, once the gateway that answers knows the app. */
async function statusFor(token: string, signal: AbortSignal | undefined): Promise<number> {
  const cookie = await logIn(token, signal)
  let status = 0
  const isKnown = async () => {
    const answer = await ask(`/console/apps/${name}/`, { headers: { Cookie: cookie } }, signal)
    const text = await answer.text()
    status = answer.status
    if (status === 200 && !text.includes(words)) throw new Error('the page is not that of the app')
    return status === 200 || status === 403
  }
  await waitUntil(isKnown, { what: `the page of ${name}`, limitMs: routeLimitMs, signal }).catch(error => {
    throw new Error(`${error.message}: ${status}`)
  })
  return status
}

/** By the form of a gateway. @returns the cookie of the login */
async function logIn(token: string, signal: AbortSignal | undefined): Promise<string> {
  const body = new URLSearchParams({ token })
  const answer = await ask('/console/login', { method: 'POST', body, headers: { Origin: gatewayUrl } }, signal)
  await answer.body?.cancel()
  const [cookie] = answer.headers.getSetCookie()
  if (answer.status !== 303 || cookie === undefined) throw new Error(`the login was answered by ${answer.status}`)
  return cookie.split(';')[0]!
}

const ask = (path: string, request: RequestInit, signal: AbortSignal | undefined): Promise<Response> =>
  fetch(`${gatewayUrl}${path}`, { ...request, redirect: 'manual', ...(signal && { signal }) })
