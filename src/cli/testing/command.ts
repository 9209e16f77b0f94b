/** For tests of commands: a registry on this machine, a folder of files, and the output of a command. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { FakeRegistry } from '../../../test/kit/images/registry.ts'
import { main } from '../../main.ts'

export class CommandTest {
  readonly registry: FakeRegistry
  readonly #folder: string

  private constructor(registry: FakeRegistry, folder: string) {
    this.registry = registry
    this.#folder = folder
  }

  static async start(): Promise<CommandTest> {
    return new CommandTest(await FakeRegistry.start(), await mkdtemp(join(tmpdir(), 'skylab-cli-')))
  }

  async stop(): Promise<void> {
    await this.registry.server.stop()
    await rm(this.#folder, { recursive: true })
  }

  /** The path of a new file with this text, or with this value as YAML. */
  async file(name: string, content: unknown): Promise<string> {
    const path = join(this.#folder, name)
    const text = name.endsWith('.json') ? JSON.stringify(content) : stringify(content)
    await writeFile(path, typeof content === 'string' ? content : text)
    return path
  }

  /** A configuration of labs with this test's registry, extended in the block `images` and with other blocks. */
  config(images: object = {}, blocks: object = {}): Promise<string> {
    const { server, repository } = this.registry
    return this.file('skylab.yaml', { images: { registry: server.host, docker: { repository }, ...images }, ...blocks })
  }

  /** Runs a command line with an empty environment. */
  async run(...args: string[]) {
    const [out, err]: [string[], string[]] = [[], []]
    const code = await main(args, {
      env: {},
      serve: () => Promise.reject(new Error('nothing is to be served')),
      out: text => void out.push(text),
      err: text => void err.push(text),
    })
    return { code, out: out.join(''), err: err.join('') }
  }
}
