/** Reads the files that the block `gateway` names for the login. */
import type { Config } from '../config/schema.ts'
import { type IngressSecrets, isIngressSecret } from '../identity/ingress.ts'

/** Secrets of the login. */
export interface LoginFiles {
  /** Of the gateway as a client of the issuer. */
  readonly clientSecret?: string | undefined
  /** By which the ingress of the login is known. */
  readonly ingressSecrets: readonly string[]
}

/** Reads a file with one secret. */
interface SecretReader {
  secret(key: string, path: string | undefined): Promise<string | undefined>
}

export const withoutLogin: LoginFiles = { ingressSecrets: [] }

export async function readLoginFiles(
  { gateway }: Pick<Config, 'gateway'>,
  others: IngressSecrets,
  reader: SecretReader,
  problems: string[],
): Promise<LoginFiles> {
  if (gateway.login === 'oidc') {
    return {
      ...withoutLogin,
      clientSecret: await reader.secret('gateway.oidc.clientSecretFile', gateway.oidc?.clientSecretFile),
    }
  }
  if (gateway.login !== 'gafaelfawr') return withoutLogin
  const ingressSecrets: string[] = []
  const taken = new Set([...others.user, ...others.admin, ...others.lab])
  for (const [index, path] of (gateway.gafaelfawr?.secretFiles ?? []).entries()) {
    const key = `gateway.gafaelfawr.secretFiles.${index}`
    const secret = await reader.secret(key, path)
    if (!secret) continue
    if (!isIngressSecret(secret)) {
      problems.push(`${key}: must be 16 to 512 printable characters without spaces and commas`)
    } else if (taken.has(secret)) {
      problems.push(`${key}: is also a secret of identity.gafaelfawr; each ingress needs secrets of its own`)
    } else ingressSecrets.push(secret)
  }
  return { ingressSecrets }
}
