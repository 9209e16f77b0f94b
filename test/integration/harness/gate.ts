/** A way to a server that a test opens and shuts: shut, connections are refused and those that were open are broken. */
import { readFile, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { parse } from 'yaml'
import { freePort } from '../../../box/ports.ts'

export class Gate {
  readonly port: number
  readonly #target: { readonly host: string; readonly port: number }
  readonly #sockets = new Set<Socket>()
  #server: Server | undefined

  private constructor(port: number, target: { host: string; port: number }) {
    this.port = port
    this.#target = target
  }

  /** A gate that is shut, on a port of loopback. */
  static async before(url: string): Promise<Gate> {
    const { hostname, port } = new URL(url)
    return new Gate(await freePort(), { host: hostname, port: Number(port) })
  }

  open(): Promise<void> {
    const server = createServer(socket => this.#pass(socket))
    this.#server = server
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(this.port, '127.0.0.1', resolve)
    })
  }

  shut(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    return new Promise(resolve => {
      if (!server) return resolve()
      server.close(() => resolve())
      for (const socket of this.#sockets) socket.destroy()
    })
  }

  #pass(socket: Socket): void {
    const far = connect(this.#target)
    for (const [from, to] of [
      [socket, far],
      [far, socket],
    ] as const) {
      this.#sockets.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.once('close', () => {
        this.#sockets.delete(from)
        to.destroy()
      })
    }
  }
}

/** A kubeconfig that leads through a gate to where another one leads; gives both. `file` is written. */
export async function gatedKubeconfig(original: string, file: string): Promise<Gate> {
  const config = parse(await readFile(original, 'utf8'))
  const cluster = config.clusters[0].cluster
  const gate = await Gate.before(cluster.server)
  cluster.server = `https://127.0.0.1:${gate.port}`
  await writeFile(file, JSON.stringify(config), { mode: 0o600 })
  return gate
}
