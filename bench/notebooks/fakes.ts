/** Pretended Jupyter servers of notebooks, by the paths that they are asked at. A name says what its server does. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { answerQuestions } from '../measure/worker.ts'

/** Kubeflow's culler asks this port when it runs outside of a cluster, as if `kubectl proxy` were there. */
const proxyPort = 8001

/** `port`: where the servers listen, at every address of the machine. */
export type FakesQuestion = { readonly do: 'start'; readonly port: number } | { readonly do: 'counts' }

/** How often each notebook was asked, by `<namespace>/<name>`. */
export type AskedCounts = Readonly<Record<string, number>>

const counts: Record<string, number> = {}
/** When each was asked first, in ms since the epoch: until then somebody worked there. */
const firstAskedMs: Record<string, number> = {}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const [, namespace, name] = /\/notebook\/([^/]+)\/([^/]+)\/api\/kernels/.exec(request.url ?? '') ?? []
  if (name === undefined) {
    response.writeHead(404).end('{}')
    return
  }
  const id = `${namespace}/${name}`
  counts[id] = (counts[id] ?? 0) + 1
  if (name.startsWith('hung-')) return
  if (name.startsWith('away-')) {
    request.socket.destroy()
    return
  }
  const isBusy = name.startsWith('busy-')
  firstAskedMs[id] ??= Date.now()
  const since = isBusy ? Date.now() : firstAskedMs[id]
  response.setHeader('Content-Type', 'application/json')
  response.end(
    JSON.stringify([
      {
        id: 'kernel',
        name: 'python3',
        execution_state: isBusy ? 'busy' : 'idle',
        last_activity: rfc3339(since),
        connections: 0,
      },
    ]),
  )
}

const rfc3339 = (ms: number) => new Date(ms).toISOString()

const listen = (port: number, host: string) =>
  new Promise<void>((resolve, reject) => {
    createServer(answer).once('error', reject).listen(port, host, resolve)
  })

answerQuestions(async (question: FakesQuestion) => {
  if (question.do === 'counts') return counts
  await Promise.all([listen(proxyPort, '127.0.0.1'), listen(question.port, '0.0.0.0')])
  return undefined
})
