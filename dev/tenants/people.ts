/** People with a token of the cluster, a kubeconfig of their own, and the plugins of kubectl in their path. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Cluster } from '../cluster/types.ts'
import { renderKubeconfig } from '../kube/credentials.ts'
import { CommandError, run } from '../process/command.ts'
import type { Tools } from '../setup/setup.ts'
import { makeToken } from '../stack/config.ts'

export const pluginFolder = fileURLToPath(new URL('../../plugins', import.meta.url))

/** One makes the namespace, one works in it first, and one is on call and works in it later. */
export const names = ['ada', 'grace', 'max'] as const
export type Name = (typeof names)[number]

/** Tokens of all, for the cluster and for REST. */
export const makeTokens = (): Readonly<Record<Name, string>> =>
  Object.fromEntries(names.map(name => [name, makeToken(name)])) as Record<Name, string>

/** What a program printed, and whether it succeeded. */
export interface Printed {
  readonly succeeded: boolean
  readonly text: string
}

export interface Person {
  readonly name: Name
  readonly token: string
  readonly kubeconfig: string
  /** Runs kubectl, or a plugin of it, as this person. Never rejects for a refusal. */
  kubectl(...args: string[]): Promise<Printed>
}

export interface PeopleOptions {
  readonly cluster: Pick<Cluster, 'kubeconfig'>
  readonly tokens: Readonly<Record<Name, string>>
  readonly tools: Tools
  /** A new folder is made in it. */
  readonly stateDir: string
  readonly signal?: AbortSignal | undefined
}

/** Writes each person's kubeconfig. */
export async function makePeople(options: PeopleOptions): Promise<Readonly<Record<Name, Person>>> {
  const { cluster, tokens, tools, stateDir, signal } = options
  const folder = join(stateDir, 'people')
  await mkdir(folder, { mode: 0o700 })
  const [{ cluster: connection }] = JSON.parse(await readFile(cluster.kubeconfig, 'utf8')).clusters
  const path = [pluginFolder, dirname(tools.program('kubectl')), process.env.PATH].join(delimiter)
  const people = names.map(async name => {
    const [token, kubeconfig] = [tokens[name], join(folder, `${name}.kubeconfig`)]
    await writeFile(kubeconfig, renderKubeconfig({ cluster: connection, token }), { mode: 0o600 })
    const env = { ...process.env, PATH: path, KUBECONFIG: kubeconfig, KUBECACHEDIR: join(folder, 'cache') }
    const kubectl = (...args: string[]) => printedBy(run(tools.program('kubectl'), args, { env, signal }), signal)
    return [name, { name, token, kubeconfig, kubectl }] as const
  })
  return Object.fromEntries(await Promise.all(people)) as Record<Name, Person>
}

async function printedBy(running: Promise<string>, signal?: AbortSignal): Promise<Printed> {
  try {
    return { succeeded: true, text: (await running).trim() }
  } catch (error) {
    signal?.throwIfAborted()
    if (!(error instanceof CommandError)) throw error
    return { succeeded: false, text: error.stderr.trim() }
  }
}
