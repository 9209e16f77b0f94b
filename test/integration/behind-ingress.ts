/** Replicas that know users by Gafaelfawr's headers, and the source that they ask. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'vitest'
import { FakeGafaelfawr } from '../../src/identity/testing/gafaelfawr.ts'
import { startFleet } from './harness/fleet.ts'

/** Two replicas; what a client of the fleet sends comes as from the ingress. */
export async function startBehindIngress(context: TestContext, api: object = {}) {
  const gafaelfawr = await FakeGafaelfawr.start()
  const folder = mkdtempSync(join(tmpdir(), 'skylab-ingress-'))
  const secretFile = join(folder, 'secret')
  const secret = 'known-to-the-ingress-alone'
  writeFileSync(secretFile, secret)
  chmodSync(secretFile, 0o600)
  const fleet = await startFleet(context, {
    replicas: 2,
    users: 4,
    config: {
      api,
      identity: {
        provider: 'gafaelfawr',
        gafaelfawr: { baseUrl: gafaelfawr.url, secretFiles: [secretFile], cacheSeconds: 1 },
      },
    },
    // What Gafaelfawr's ingress would add: for the routes of administrators, no token.
    credentials: (username, token) => ({
      'x-skylab-ingress-secret': secret,
      'x-auth-request-user': username,
      ...(username !== 'admin' && { 'x-auth-request-token': token }),
    }),
  })
  context.onTestFinished(async () => {
    rmSync(folder, { recursive: true })
    await gafaelfawr.stop()
  })
  return { gafaelfawr, fleet, secret }
}
