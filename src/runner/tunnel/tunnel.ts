/** The tunnel of one run: its gateway, and what serves shells, which is loaded when one is first asked for. */
import type { Socket } from 'node:net'
import type { Gateway as Told } from '../../dispatch/protocol.ts'
import type { Engine } from '../engines/engine.ts'
import type { RunFolder } from '../state/run-folder.ts'
import { Gateway } from './gateway.ts'
import { reach } from './reach.ts'
import type { Shell } from './shell.ts'

export class RunTunnel {
  readonly #engine: Engine
  readonly #gateway: Gateway
  #shell: Promise<Shell> | undefined
  #isClosed = false

  private constructor(key: string, name: string, engine: Engine) {
    this.#engine = engine
    this.#gateway = new Gateway({ key, name, reach: port => reach(engine, port), shell: () => this.#serve() })
  }

  /** Undefined for a run that got no key: its keeper is older than tunnels. */
  static of(folder: RunFolder, engine: Engine): RunTunnel | undefined {
    const key = folder.tunnelKey()
    return key === undefined ? undefined : new RunTunnel(key, `${folder.uuid}.${folder.run}`, engine)
  }

  listen(): Promise<Told> {
    // Strangers, and the SSH of its owner, speak to this process. A failure there must never cost the run its supervisor, whose
    // own work ends by rejections, and loses output where a disk fails.
    process.on('uncaughtException', error => process.stderr.write(`tunnel: ${error.stack}\n`))
    return this.#gateway.listen()
  }

  /** Begins nothing any more, at once, and cuts what is open. */
  close(): void {
    this.#isClosed = true
    this.#gateway.close()
  }

  async #serve(): Promise<(stream: Socket) => void> {
    this.#shell ??= this.#makeShell()
    const shell = await this.#shell
    return stream => shell.serve(stream)
  }

  async #makeShell(): Promise<Shell> {
    const { Shell } = await import('./shell.ts')
    const engine = this.#engine
    return new Shell({
      reach: port => reach(engine, port),
      inside: wish => {
        if (this.#isClosed) throw new Error('the container has ended')
        return engine.inside(wish)
      },
    })
  }
}
