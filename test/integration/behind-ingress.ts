/** Replicas that know users by Gafaelfawr's headers, and the source that they ask. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'vitest'
import { startFleet } from '../kit/fleet/fleet.ts'
import { FakeGafaelfawr } from '../kit/identity/gafaelfawr.ts'

/** Two replicas; what a client of the fleet sends comes as from the ingress. */
export async function startBehindIngress(context: TestContext, api: object = {}) {
  const gafaelfawr = await FakeGafaelfawr.start()
  const folder = mkdtempSync(join(tmpdir(), 'skylab-ingress-'))
  const secrets = { user: 'known-to-the-ingress-of-users', admin: 'known-to-that-of-administrators' }
  const fileOf = (name: keyof typeof secrets) => {
    const file = join(folder, name)
    writeFileSync(file, secrets[name])
    chmodSync(file, 0o600)
    return file
  }
  const fleet = await startFleet(context, {
    replicas: 2,
    users: 4,
    config: {
      api,
      identity: {
        provider: 'gafaelfawr',
        gafaelfawr: {
          baseUrl: gafaelfawr.url,
          userSecretFiles: [fileOf('user')],
          adminSecretFiles: [fileOf('admin')],
          cacheSeconds: 1,
        },
      },
    },
    // What Gafaelfawr's ingress would add: for the routes of administrators, no token.
    credentials: (username, token) => ({
      'x-skylab-ingress-secret': secrets[username === 'admin' ? 'admin' : 'user'],
      'x-auth-request-user': username,
      ...(username !== 'admin' && { 'x-auth-request-token': token }),
    }),
  })
  context.onTestFinished(async () => {
    rmSync(folder, { recursive: true })
    await gafaelfawr.stop()
  })
  return { gafaelfawr, fleet, secrets }
}
