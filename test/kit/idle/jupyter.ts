/** Uses a Jupyter server as its user does: runs code in kernels, and types in terminals. */
import { randomUUID } from 'node:crypto'
import { WebSocket } from 'undici'
import { waitUntil } from '../../../dev/process/api-client.ts'

/** Where a Jupyter server is, and the token that it accepts. */
export interface JupyterPlace {
  readonly address: string
  readonly port: number
  readonly prefix: string
  readonly token: string
}

/** A kernel or terminal in the API's lists. */
export interface Listed {
  readonly id?: string
  readonly name: string
  readonly last_activity: string
  readonly execution_state?: string
}

const limitMs = 30_000

export class Jupyter {
  readonly #place: JupyterPlace

  constructor(place: JupyterPlace) {
    this.#place = place
  }

  /** A request to the server itself, not through the Hub's proxy. */
  ask(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { authorization: `token ${this.#place.token}`, ...init.headers }
    return fetch(`http://${this.#host}${path}`, { redirect: 'manual', ...init, headers })
  }

  async kernels(): Promise<readonly Listed[]> {
    return (await this.ask('api/kernels?no_track_activity=1')).json() as Promise<readonly Listed[]>
  }

  async terminals(): Promise<readonly Listed[]> {
    return (await this.ask('api/terminals?no_track_activity=1')).json() as Promise<readonly Listed[]>
  }

  /** Starts a kernel; resolves at once, while it is still starting. */
  startKernel(): Promise<Listed> {
    return this.#post('api/kernels', { name: 'python3' })
  }

  /** Shuts down all kernels and terminals. */
  async clean(): Promise<void> {
    const [kernels, terminals] = await Promise.all([this.kernels(), this.terminals()])
    const paths = [...kernels.map(({ id }) => `kernels/${id}`), ...terminals.map(({ name }) => `terminals/${name}`)]
    await Promise.all(paths.map(path => this.ask(`api/${path}`, { method: 'DELETE' })))
  }

  /** Runs code to its end; resolves with what it printed. */
  run(kernel: Listed, code: string): Promise<string> {
    return this.#execute(kernel, code, 'idle')
  }

  /** Begins to run code, and disconnects while it runs, as a browser that is closed. */
  async begin(kernel: Listed, code: string): Promise<void> {
    await this.#execute(kernel, code, 'busy')
    await this.waitForKernel(kernel, 'busy')
  }

  /** Waits until the API shows a kernel in this state. */
  waitForKernel({ id }: Listed, state: string): Promise<void> {
    const isThere = async () => (await this.kernels()).some(each => each.id === id && each.execution_state === state)
    return waitUntil(isThere, { what: `a kernel that is ${state}`, limitMs })
  }

  /** Waits until the API shows a kernel or terminal active after this time. */
  waitForActivity(list: 'kernels' | 'terminals', afterMs: number): Promise<void> {
    const isLater = async () => (await this[list]()).some(({ last_activity }) => Date.parse(last_activity) > afterMs)
    return waitUntil(isLater, { what: `activity of ${list}`, limitMs })
  }

  /** Opens a terminal. */
  openTerminal(): Promise<Listed> {
    return this.#post('api/terminals', {})
  }

  /** Types a line, and disconnects when the terminal has shown the words. They must differ from the line itself. */
  async type({ name }: Listed, line: string, words: string): Promise<void> {
    const socket = this.#open(`terminals/websocket/${name}`)
    socket.addEventListener('open', () => socket.send(JSON.stringify(['stdin', `${line}\r`])))
    let shown = ''
    await untilMessage(socket, `${words} in a terminal`, ([kind, text]: [string, string]) => {
      if (kind === 'stdout') shown += text
      return shown.includes(words)
    })
  }

  /** Resolves with the output when the kernel says that it has come to this state with the code. */
  async #execute(kernel: Listed, code: string, state: 'busy' | 'idle'): Promise<string> {
    const session = randomUUID()
    const socket = this.#open(`api/kernels/${kernel.id}/channels?session_id=${session}`)
    const header = { msg_id: randomUUID(), msg_type: 'execute_request', username: '', session, version: '5.3' }
    const content = { code, silent: false, store_history: true, user_expressions: {}, allow_stdin: false }
    const message = { header, parent_header: {}, metadata: {}, content, channel: 'shell', buffers: [] }
    socket.addEventListener('open', () => socket.send(JSON.stringify(message)))
    let printed = ''
    await untilMessage(socket, `${state} after ${code}`, (answer: KernelMessage) => {
      if (answer.parent_header.msg_id !== header.msg_id) return false
      if (answer.msg_type === 'stream') printed += answer.content.text
      return answer.msg_type === 'status' && answer.content.execution_state === state
    })
    return printed
  }

  #open(path: string): WebSocket {
    return new WebSocket(`ws://${this.#host}${path}`, { headers: { authorization: `token ${this.#place.token}` } })
  }

  async #post(path: string, body: object): Promise<Listed> {
    const response = await this.ask(path, { method: 'POST', body: JSON.stringify(body) })
    if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`)
    return response.json() as Promise<Listed>
  }

  get #host(): string {
    return `${this.#place.address}:${this.#place.port}${this.#place.prefix}`
  }
}

/** A part of a message of Jupyter's kernel protocol. */
interface KernelMessage {
  readonly msg_type: string
  readonly parent_header: { readonly msg_id?: string }
  readonly content: { readonly execution_state?: string; readonly text?: string }
}

/** Resolves, with the connection closed, at the first message that is the one. */
async function untilMessage<T>(socket: WebSocket, what: string, isIt: (message: T) => boolean): Promise<void> {
  const limit = AbortSignal.timeout(limitMs)
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('message', ({ data }) => isIt(JSON.parse(String(data))) && resolve())
    socket.addEventListener('close', ({ code, reason }) => reject(new Error(`${what}: closed, ${code} ${reason}`)))
    socket.addEventListener('error', ({ message }) => reject(new Error(`${what}: ${message}`)))
    limit.addEventListener('abort', () => reject(new Error(`${what}: not in ${limitMs / 1000} s`)))
  }).finally(() => socket.close())
}
