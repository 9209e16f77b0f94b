/** Configuration of the replicas of a demo or a test. */
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { z } from 'zod'
import type { configSchema } from '../../src/config/schema.ts'
import { formatTokens, type StaticTokens } from '../../src/identity/tokens.ts'

/** A configuration before the defaults are filled in. */
export type ConfigInput = z.input<typeof configSchema>
type TokenInput = StaticTokens['tokens'][number]

/** A user of the demo's API. */
export interface DemoUser {
  readonly token: string
  readonly scopes: readonly string[]
  readonly uid: number
}

export type DemoUsers = Readonly<Record<string, DemoUser>>

/** A token that shows whose it is. */
export const makeToken = (name: string): string => `${name}-${randomBytes(16).toString('hex')}`

const firstUid = 4_000_000
const sharedGroup = { name: 'astronomers', id: 4_900_000 }

/**
 * That many users with a token each: ada, grace, admin, then user-004 and so on; at least the first three.
 * All may have labs; admin may also see and delete those of others.
 */
export function makeUsers(count: number): DemoUsers {
  const names = ['ada', 'grace', 'admin']
  for (let number = names.length + 1; number <= count; number++) names.push(`user-${String(number).padStart(3, '0')}`)
  return Object.fromEntries(
    names.map((name, index) => [
      name,
      {
        token: makeToken(name),
        scopes: name === 'admin' ? ['exec:notebook', 'admin:jupyterlab'] : ['exec:notebook'],
        uid: firstUid + index,
      },
    ]),
  )
}

/** The account of a JupyterHub: it sees and removes the labs of all, and has none itself. */
export const makeHubAccount = (): DemoUser => ({
  token: makeToken('hub'),
  scopes: ['admin:jupyterlab'],
  uid: firstUid - 1,
})

function tokenRecord(username: string, { token, scopes, uid }: DemoUser): TokenInput {
  const groups = [{ name: username, id: uid }, sharedGroup]
  return { token, username, scopes: [...scopes], uid, gid: uid, groups }
}

/** The command of a lab without a Hub. The kubelet fills in the prefix, which the controller sets for every lab. */
export const labCommand = [
  ...['jupyter', 'lab', '--ip', '0.0.0.0', '--port', '8888', '--no-browser'],
  '--ServerApp.base_url=$(JUPYTERHUB_SERVICE_PREFIX)',
]

/** Sends labs to KWOK's nodes, which accept no other pods. */
export const kwokPlacement = {
  nodeSelector: { type: 'kwok' },
  tolerations: [{ key: 'kwok.x-k8s.io/node', operator: 'Exists' }],
} satisfies ConfigInput['lab']

export interface ConfigPlan {
  readonly redisUrl: string
  readonly kubeconfig: string
  /** Registry, repository and tag of the labs' image. */
  readonly images: Pick<NonNullable<ConfigInput['images']>, 'registry' | 'docker' | 'recommendedTag'>
  readonly labsOnKwok: boolean
  /** Changes to the chosen configuration, block by block. */
  readonly overrides?: ConfigInput | undefined
}

/** The configuration that all replicas share; ports and names come from each replica's environment. */
export function stackConfig({ redisUrl, kubeconfig, images, labsOnKwok, overrides = {} }: ConfigPlan): ConfigInput {
  return {
    ...overrides,
    api: { host: '127.0.0.1', ...overrides.api },
    redis: { url: redisUrl, ...overrides.redis },
    kubernetes: { kubeconfig, ...overrides.kubernetes },
    identity: overrides.identity ?? { provider: 'static', static: { file: 'tokens.yaml' } },
    images: { ...images, ...overrides.images },
    lab: { command: labCommand, ...(labsOnKwok ? kwokPlacement : {}), ...overrides.lab },
    sealing: { keyFiles: ['sealing.key'] },
  }
}

/** The users in the file format of the identity provider `static`. */
export const formatUsers = (users: DemoUsers): string =>
  formatTokens({ tokens: Object.entries(users).map(([name, user]) => tokenRecord(name, user)) })

/** A new sealing key, in the file format of `sealing.keyFiles`. */
export const makeSealingKey = (): string => `${randomBytes(32).toString('base64')}\n`

/** Writes the configuration, the tokens and a new sealing key, readable by this user only; returns the configuration's path. */
export async function writeConfig(folder: string, config: ConfigInput, users: DemoUsers): Promise<string> {
  const mode = 0o600
  await writeFile(join(folder, 'tokens.yaml'), formatUsers(users), { mode })
  await writeFile(join(folder, 'sealing.key'), makeSealingKey(), { mode })
  const file = join(folder, 'skylab.yaml')
  await writeFile(file, stringify(config, { version: '1.1' }), { mode })
  return file
}
