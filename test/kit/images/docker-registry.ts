/** Debian's docker-registry with a test's own settings, in a folder of its own. It needs no cluster. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fetch } from 'undici'
import { findProgram } from '../../../dev/process/command.ts'
import { freePort } from '../../../dev/process/ports.ts'
import { stopProcess } from '../../../dev/process/process.ts'
import { controlServer, type ServerControl, startServer } from '../../../dev/process/server.ts'

const name = 'docker-registry'

export interface RealRegistry extends Pick<ServerControl, 'kill' | 'start'> {
  /** `host:port` */
  readonly address: string
  readonly stateDir: string
  /** Methods and paths of answered requests, in order. */
  asked(): string[]
  stop(): Promise<void>
}

export const hasDockerRegistry = findProgram(name) !== null

/** A part of its configuration file, given a function that writes a file and returns its path. */
export type RegistrySettings = (file: (name: string, text: string) => string) => object

/** The password secret-of-ada, hashed with bcrypt. */
const users = 'ada:$2b$05$abcdefghijklmnopqrstuu5h.nhmsAZIXdJeYlFUwqB2sotrz5yfS\n'

/** Admits only ada with the password secret-of-ada. */
export const withPassword: RegistrySettings = file => ({
  auth: { htpasswd: { realm: 'box', path: file('users', users) } },
})

/** @param host an address of this machine */
export async function startDockerRegistry(settings: RegistrySettings = () => ({}), host = '127.0.0.1') {
  const stateDir = mkdtempSync(join(tmpdir(), 'skylab-registry-'))
  const address = `${host}:${await freePort()}`
  const file = (name: string, text: string) => {
    writeFileSync(join(stateDir, name), text)
    return join(stateDir, name)
  }
  const { http = {}, ...rest } = settings(file) as { http?: object }
  const config = {
    version: 0.1,
    log: { level: 'error' },
    storage: { filesystem: { rootdirectory: join(stateDir, 'storage') }, delete: { enabled: true } },
    http: { addr: address, ...http },
    ...rest,
  }
  const args = ['serve', file('config.json', JSON.stringify(config))]
  const spec = { name, command: findProgram(name)!, args, stateDir }
  const readiness = { answers: () => answers(address), limitMs: 20_000 }
  const { kill, start } = controlServer(spec, readiness)
  const registry: RealRegistry = {
    ...{ address, stateDir, kill, start },
    asked: () => requestsIn(readFileSync(join(stateDir, 'log', `${name}.log`), 'utf8')),
    stop: async () => {
      await stopProcess(stateDir, name, 2000)
      rmSync(stateDir, { recursive: true, force: true })
    },
  }
  try {
    await startServer(spec, readiness)
    return registry
  } catch (error) {
    await registry.stop()
    throw error
  }
}

/** The file of a blob, in a registry with its own storage. */
export function blobFile({ stateDir }: RealRegistry, digest: string): string {
  const hex = hexOf(digest)
  return join(stateDir, storedFiles, 'blobs', 'sha256', hex.slice(0, 2), hex, 'data')
}

/** The file that links a manifest to a repository. Without it the tags are still listed, and name nothing. */
export function manifestFile({ stateDir }: RealRegistry, repository: string, digest: string): string {
  const revisions = join(stateDir, storedFiles, 'repositories', repository, '_manifests', 'revisions')
  return join(revisions, 'sha256', hexOf(digest), 'link')
}

const storedFiles = join('storage', 'docker', 'registry', 'v2')
const hexOf = (digest: string) => digest.replace('sha256:', '')

/** A registry with TLS answers 400 to plain HTTP; one with passwords answers 401. */
async function answers(address: string): Promise<boolean> {
  return (await fetch(`http://${address}/v2/`)).status < 500
}

/** The requests in its access log, without the probes for readiness. */
function requestsIn(log: string): string[] {
  const requests = [...log.matchAll(/"([A-Z]+ \/v2\/\S+) HTTP\/1\.1" \d{3} /g)]
  return requests.map(([, request]) => request!)
}
