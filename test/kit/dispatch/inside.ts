/** Programs that run in containers of tests, and the clients that reach them. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { builtProgram } from '../program/program.ts'
import { testBed } from '../testbed.ts'

const ws = fileURLToPath(new URL('../../../node_modules/ws/index.js', import.meta.url))

/**
 * Shows what it is sent, by HTTP, and repeats it by WebSocket. `/moved` leads elsewhere, `/flood` has no end, `/silent` no
 * answer. It prints its port.
 */
const server = `
const http = require('node:http')
const { WebSocketServer } = require(${JSON.stringify(ws)})
const server = http.createServer((request, response) => {
  let body = ''
  request.on('data', chunk => { body += chunk })
  request.on('end', () => {
    response.setHeader('Set-Cookie', 'session=stolen')
    response.setHeader('X-Forwarded-User', 'root')
    if (request.url === '/moved') return response.writeHead(302, { Location: '/elsewhere' }).end()
    if (request.url === '/silent') return
    if (request.url === '/public') response.setHeader('Cache-Control', 'public, max-age=60')
    if (request.url === '/flood') {
      const more = () => { while (response.write(Buffer.alloc(65536))); response.once('drain', more) }
      return more()
    }
    response.end(JSON.stringify({ method: request.method, path: request.url, body, headers: request.rawHeaders }))
  })
})
new WebSocketServer({ server }).on('connection', socket => socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary })))
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
`

export const serverCommand = [process.execPath, '-e', server]

export interface Shown {
  readonly method: string
  readonly path: string
  readonly body: string
  /** Names and values in turn. */
  readonly headers: readonly string[]
}

export interface ShellAsk {
  readonly url: string
  readonly token: string
  readonly args: readonly string[]
  /** Runs it in a terminal of this size. */
  readonly size?: { readonly rows: number; readonly columns: number }
}

/** Starts `skylab shell` with the system's `ssh`. */
export function startShell({ url, token, args, size }: ShellAsk): ChildProcessWithoutNullStreams {
  const { program } = builtProgram(testBed().stateDir)
  const env = { PATH: process.env.PATH, SKYLAB_URL: url, SKYLAB_TOKEN: token, TERM: 'xterm' }
  const line = [process.execPath, program, 'shell', ...args]
  if (!size) return spawn(line[0]!, line.slice(1), { env, stdio: 'pipe' })
  const words = line.map(word => `'${word}'`).join(' ')
  const sized = `stty rows ${size.rows} cols ${size.columns}; ${words}`
  return spawn('script', ['-q', '-e', '-E', 'always', '-c', sized, '/dev/null'], { env, stdio: 'pipe' })
}

export async function runShell(
  ask: ShellAsk & { readonly input?: string },
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  const child = startShell(ask)
  child.stdin.end(ask.input ?? '')
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code, out, err }
}
