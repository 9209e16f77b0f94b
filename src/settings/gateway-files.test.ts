import { expect, it } from 'vitest'
import { configSchema } from '../config/schema.ts'
import type { IngressSecrets } from '../identity/ingress.ts'
import { readLoginFiles } from './gateway-files.ts'

const none: IngressSecrets = { user: [], admin: [], lab: [] }
const secret = 'a-secret-of-the-login-ingress'
const reader = (files: Readonly<Record<string, string>>) => ({
  secret: async (_: string, path: string | undefined) => (path === undefined ? undefined : files[path]),
})

async function read(gateway: object, files: Readonly<Record<string, string>> = {}, others = none) {
  const problems: string[] = []
  const found = await readLoginFiles(configSchema.parse({ gateway }), others, reader(files), problems)
  return { found, problems }
}

it('readLoginFiles reads the secret of the client, and none of another way to log in', async () => {
  const oidc = { clientId: 'a', clientSecretFile: 'client' }
  const gateway = { login: 'oidc', oidc, gafaelfawr: { secretFiles: ['ingress'] } }
  const files = { client: 'x', ingress: secret }
  expect((await read(gateway, files)).found).toEqual({ clientSecret: 'x', ingressSecrets: [] })
  expect((await read({ ...gateway, login: 'gafaelfawr' }, files)).found).toEqual({ ingressSecrets: [secret] })
  expect((await read({ ...gateway, login: 'static' }, files)).found).toEqual({ ingressSecrets: [] })
})

it('readLoginFiles refuses a secret that is none, and one of another ingress', async () => {
  const gateway = { login: 'gafaelfawr', gafaelfawr: { secretFiles: ['short', 'shared'] } }
  const { found, problems } = await read(gateway, { short: 'x', shared: secret }, { ...none, admin: [secret] })
  expect(found.ingressSecrets).toEqual([])
  expect(problems).toEqual([
    'gateway.gafaelfawr.secretFiles.0: must be 16 to 512 printable characters without spaces and commas',
    'gateway.gafaelfawr.secretFiles.1: is also a secret of identity.gafaelfawr; each ingress needs secrets of its own',
  ])
})
