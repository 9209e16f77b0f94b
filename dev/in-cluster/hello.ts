/** A small app of the labs' image, which has Python, and its page as members and strangers get it. */
import { appParent } from '../../src/apps/words.ts'
import { waitUntil } from '../process/api-client.ts'

const port = 8080
const words = 'Hello from an app'
/** A gateway hears of a route by a bell, and looks itself if it heard none. */
const routeLimitMs = 30_000

/** The folder of an app is made with `mkdir` of its image. */
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

export interface HelloApp {
  readonly name: string
  readonly namespace: string
  readonly group: string
  readonly image: string
}

/** The PhApplication. */
export function helloApp({ name, namespace, group, image }: HelloApp): object {
  const command = ['python3', '-c', program]
  const ports = [{ name: 'http', containerPort: port }]
  const container = { name, image, command, ports, readinessProbe: { tcpSocket: { port }, periodSeconds: 1 } }
  return {
    ...{ ...appParent, metadata: { name, namespace } },
    spec: {
      ...{ displayName: 'Hello', groupName: group, scope: 'group', httpPort: port },
      podTemplate: { spec: { containers: [container] } },
      svcTemplate: { spec: { ports: [{ name: 'http', port, targetPort: port }] } },
    },
  }
}

export interface Looking {
  /** Of a gateway whose login is `static`. */
  readonly gateway: string
  readonly app: string
  /** Of whoever looks. */
  readonly token: string
  readonly signal?: AbortSignal | undefined
}

/** The status of the app's page after a login, once the gateway that answers knows the app: 200 or 403. */
export async function statusFor({ app, ...by }: Looking): Promise<number> {
  const cookie = await logIn(by)
  let status = 0
  const isKnown = async () => {
    const answer = await ask(by, `/console/apps/${app}/`, { headers: { Cookie: cookie } })
    const text = await answer.text()
    status = answer.status
    if (status === 200 && !text.includes(words)) throw new Error('the page is not that of the app')
    return status === 200 || status === 403
  }
  await waitUntil(isKnown, { what: `the page of ${app}`, limitMs: routeLimitMs, signal: by.signal }).catch(error => {
    throw new Error(`${error.message}: ${status}`)
  })
  return status
}

/** By the form of a gateway. @returns the cookie of the login */
async function logIn({ token, ...by }: Omit<Looking, 'app'>): Promise<string> {
  const body = new URLSearchParams({ token })
  const answer = await ask(by, '/console/login', { method: 'POST', body, headers: { Origin: by.gateway } })
  await answer.body?.cancel()
  const [cookie] = answer.headers.getSetCookie()
  if (answer.status !== 303 || cookie === undefined) throw new Error(`the login was answered by ${answer.status}`)
  return cookie.split(';')[0]!
}

const ask = ({ gateway, signal }: Pick<Looking, 'gateway' | 'signal'>, path: string, request: RequestInit) =>
  fetch(`${gateway}${path}`, { ...request, redirect: 'manual', ...(signal && { signal }) })
