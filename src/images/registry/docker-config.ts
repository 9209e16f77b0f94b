/** Finds the credentials for a registry in a Docker config.json. Pure. */
import { z } from 'zod'
import { registryNames } from './names.ts'

/** Credentials for a registry, or for its token service. */
export type Credential =
  | { readonly username: string; readonly password: string }
  /** Exchanged for OAuth 2 tokens, and never sent to the registry itself. */
  | { readonly identityToken: string }

const entrySchema = z.object({
  auth: z.string().nullish(),
  username: z.string().nullish(),
  password: z.string().nullish(),
  identitytoken: z.string().nullish(),
})
const configSchema = z.object({ auths: z.record(z.string(), entrySchema).nullish() })

type Entry = z.output<typeof entrySchema>

/**
 * The credentials for a repository: those of the longest key that matches its registry and the beginning of its path.
 * Keys are hosts, also with a scheme, with a path, or with `*` in labels, as the kubelet accepts them in pull secrets.
 * @returns undefined when there are none
 * @throws {Error} when the text is not a Docker config.json; the message quotes nothing of it
 */
export function credentialFor(text: string, registry: string, repository: string): Credential | undefined {
  const parsed = configSchema.safeParse(parseJson(text))
  if (!parsed.success) throw new Error('the credentials are no Docker config.json')
  const names = registryNames(registry)
  const fitting = Object.entries(parsed.data.auths ?? {})
    .map(([key, entry]) => ({ key, entry, rank: rankOf(key, names, repository) }))
    .filter(({ rank }) => rank >= 0)
    .sort((a, b) => b.rank - a.rank)
  for (const { key, entry } of fitting) {
    const credential = credentialOf(entry, key)
    if (credential) return credential
  }
  return undefined
}

const keyForm = /^(?:https?:\/\/)?(?<host>[^/]+)(?<path>\/.*)?$/i

/** The quality of a match: a longer path is better, and a name is better than a pattern; -1 for no match. */
function rankOf(key: string, names: readonly string[], repository: string): number {
  const { host = '', path = '' } = keyForm.exec(key)?.groups ?? {}
  const wanted = host.toLowerCase()
  const exact = names.some(name => name.toLowerCase() === wanted)
  if (!exact && !names.some(name => fitsPattern(name.toLowerCase(), wanted))) return -1
  // Docker's own keys end with the version of the protocol.
  const folder = path.replace(/^\/v[12]\/?$/, '').replace(/^\/+|\/+$/g, '')
  if (folder !== '' && !`${repository}/`.startsWith(`${folder}/`)) return -1
  return folder.length * 2 + (exact ? 1 : 0)
}

/** `*` matches within one label. */
function fitsPattern(name: string, pattern: string): boolean {
  if (!pattern.includes('*')) return false
  const labels = name.split('.')
  const patterns = pattern.split('.')
  return labels.length === patterns.length && labels.every((label, index) => fitsLabel(label, patterns[index]!))
}

function fitsLabel(label: string, pattern: string): boolean {
  const parts = pattern.split('*').map(part => part.replace(/[^\w-]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`).test(label)
}

function credentialOf({ auth, username, password, identitytoken }: Entry, key: string): Credential | undefined {
  if (identitytoken) return { identityToken: identitytoken }
  if (auth) {
    const decoded = Buffer.from(auth, 'base64').toString('utf8').replace(/\0+$/, '')
    const colon = decoded.indexOf(':')
    if (colon < 1) throw new Error(`the credentials of ${key} have no user and password in auth`)
    return { username: decoded.slice(0, colon), password: decoded.slice(colon + 1) }
  }
  return username && password ? { username, password } : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
