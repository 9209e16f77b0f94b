/** What a process reads that answers requests of users. */
import type { Config } from '../config/schema.ts'
import { type IngressSecrets, isIngressSecret } from '../identity/ingress.ts'
import { parseTokens, type TokenRecord } from '../identity/tokens.ts'
import type { FileReader } from './file-reader.ts'
import { type ApiTls, readTls } from './tls-files.ts'

export interface ApiFiles {
  /** The files of `api.tls`: their full paths and current contents. */
  readonly apiTls?: ApiTls
  /** The entries of the file of the `static` identity provider. */
  readonly tokens: readonly TokenRecord[]
  /** For the provider `gafaelfawr`: the secrets by which each ingress is known. */
  readonly ingressSecrets: IngressSecrets
}

export const withoutApi: ApiFiles = { tokens: [], ingressSecrets: { user: [], admin: [], lab: [] } }

export async function readApiFiles(config: Config, reader: FileReader, problems: string[]): Promise<ApiFiles> {
  const apiTls = config.api.tls && (await readTls('api.tls', config.api.tls, reader, problems))
  const tokens = await readTokens(config, reader, problems)
  const ingressSecrets = await readIngressSecrets(config, reader, problems)
  return { ...{ tokens, ingressSecrets }, ...(apiTls !== undefined && { apiTls }) }
}

async function readTokens(config: Config, reader: FileReader, problems: string[]): Promise<readonly TokenRecord[]> {
  if (config.identity.provider !== 'static') return []
  const text = await reader.text('identity.static.file', config.identity.static?.file)
  if (text === undefined) return []
  const parsed = parseTokens(text)
  if ('tokens' in parsed) return parsed.tokens
  problems.push(...parsed.problems.map(problem => `identity.static.file: ${problem}`))
  return []
}

async function readIngressSecrets(config: Config, reader: FileReader, problems: string[]): Promise<IngressSecrets> {
  const { provider, gafaelfawr } = config.identity
  if (provider !== 'gafaelfawr' || gafaelfawr === undefined) return { user: [], admin: [], lab: [] }
  /** The key at which each secret was found first. */
  const keys = new Map<string, string>()
  const readAll = async (name: 'userSecretFiles' | 'adminSecretFiles' | 'labSecretFiles') => {
    const secrets: string[] = []
    for (const [index, path] of gafaelfawr[name].entries()) {
      const key = `identity.gafaelfawr.${name}.${index}`
      const secret = await reader.secret(key, path)
      if (!secret) continue
      const other = keys.get(secret)
      if (!isIngressSecret(secret)) {
        problems.push(`${key}: must be 16 to 512 printable characters without spaces and commas`)
      } else if (other !== undefined && !other.includes(name)) {
        problems.push(`${key}: is the same secret as ${other}; each ingress needs secrets of its own`)
      } else secrets.push(secret)
      keys.set(secret, other ?? key)
    }
    return secrets
  }
  return {
    user: await readAll('userSecretFiles'),
    admin: await readAll('adminSecretFiles'),
    lab: await readAll('labSecretFiles'),
  }
}
