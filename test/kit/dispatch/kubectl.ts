/**
 * What commands of docs/dispatch-tasks.md ask of Kubernetes, done to the processes of a fleet: its Secret is a folder, its
 * ConfigMap the file of each replica, and a rollout ends one replica after another. Any other word is an error.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Document, parse, visit } from 'yaml'
import { builtProgram } from '../program/program.ts'
import { testBed } from '../testbed.ts'
import type { DispatchFleet } from './fleet.ts'

const secrets = '/etc/skylab/secrets'

export class FleetKubectl {
  /** A folder with `kubectl`, `skylab` and `node`, to come first in PATH. */
  readonly programs: string
  /** Where commands run; it has `site/dispatch.yaml`. */
  readonly cwd: string
  readonly #fleet: DispatchFleet
  readonly #server: Server

  static async for(fleet: DispatchFleet): Promise<FleetKubectl> {
    const kubectl = new FleetKubectl(fleet)
    await new Promise<void>(resolve => kubectl.#server.listen(0, '127.0.0.1', resolve))
    kubectl.#install()
    return kubectl
  }

  private constructor(fleet: DispatchFleet) {
    this.#fleet = fleet
    this.cwd = join(fleet.stateDir, 'operator')
    this.programs = join(this.cwd, 'programs')
    this.#server = createServer(async (request, response) => {
      const words = await textOf(request)
      const answer = await this.#act(words).catch(error => ({ code: 1, text: String(error) }))
      response.writeHead(answer.code === 0 ? 200 : 500).end(answer.text)
    })
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  #install(): void {
    const { port } = this.#server.address() as AddressInfo
    const { program } = builtProgram(testBed().stateDir)
    const { stateDir } = this.#fleet
    for (const folder of [this.programs, join(this.cwd, 'site')]) mkdirSync(folder, { recursive: true })
    const write = (name: string, script: string) =>
      writeFileSync(join(this.programs, name), `#!/bin/bash\n${script}\n`, { mode: 0o755 })
    const node = `${process.execPath} ${program}`
    // Files that the configuration names are beside it here.
    write('skylab', `exec ${node} "$@"`)
    write(
      'kubectl',
      `if [ "$1" = exec ]; then shift 7; args=("\${@/#\\/etc\\/skylab\\/config\\/skylab.yaml/${stateDir}/skylab-1.yaml}"); exec ${node} "\${args[@]}"; fi
body=$(printf '%s\\n' "$@")
exec curl -sS --fail-with-body --data-binary "$body" http://127.0.0.1:${port}/`,
    )
    copyFileSync(join(stateDir, 'dispatch.key'), join(stateDir, 'ssh.key'))
    const site = new Document(parse(readFileSync(join(stateDir, 'skylab-1.yaml'), 'utf8')))
    // Commands of the page edit lists as one line.
    visit(site, {
      Seq: (_, node) => {
        node.flow = true
      },
    })
    const text = site.toString({ lineWidth: 0 })
    writeFileSync(join(this.cwd, 'site/dispatch.yaml'), text.replaceAll(/File: (\S+\.token)$/gm, `File: ${secrets}/$1`))
  }

  async #act(words: string): Promise<{ readonly code: number; readonly text: string }> {
    const line = words.replaceAll('\n', ' ').trim()
    const { stateDir } = this.#fleet
    const [, read] = /^get secret skylab-dispatch -n skylab -o jsonpath=\{\.data\.([\w\\.-]+)\}$/.exec(line) ?? []
    if (read) return done(readFileSync(join(stateDir, read.replaceAll('\\', ''))).toString('base64'))
    const [, patch] = /^patch secret skylab-dispatch -n skylab -p (\{.*\})$/.exec(line) ?? []
    if (patch) {
      const { stringData } = JSON.parse(patch) as { stringData: Record<string, string> }
      for (const [name, text] of Object.entries(stringData)) writeFileSync(join(stateDir, name), text, { mode: 0o600 })
      return done('secret/skylab-dispatch patched')
    }
    if (line === 'apply --server-side -k site') return this.#rollOut()
    if (line === 'rollout status deployment/skylab-dispatch -n skylab') return done('successfully rolled out')
    if (/^port-forward -n skylab deployment\/skylab-dispatch 8080 8081$/.test(line)) return done('Forwarding')
    return { code: 1, text: `unknown: ${line}` }
  }

  async #rollOut() {
    const { stateDir, replicas } = this.#fleet
    const text = readFileSync(join(this.cwd, 'site/dispatch.yaml'), 'utf8').replaceAll(`${secrets}/`, '')
    for (const [index, replica] of replicas.entries()) {
      writeFileSync(join(stateDir, `skylab-${index + 1}.yaml`), text)
      const { ended } = replica
      replica.kill('SIGTERM')
      await ended
      await replica.ready()
    }
    return done('deployment.apps/skylab-dispatch serverside-applied')
  }
}

const done = (text: string) => ({ code: 0, text })

async function textOf(request: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
