/** An issuer with a certificate of an authority of its own, as the component `ca` names it to gateways. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeSealingKey } from '../../../dev/stack/config.ts'
import { locationOf } from '../../kit/gateway/browser.ts'
import { GatewaySite, statusOf } from '../../kit/gateway/site.ts'
import { TestAuthority } from '../../kit/tls/authority.ts'

let server: Server
let folder: string
let authority: TestAuthority
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skylab-issuer-'))
  authority = new TestAuthority(folder)
  const { cert, key } = authority.issue('issuer', { alternatives: ['DNS:localhost'] })
  server = createServer({ cert, key }, (_, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' })
    response.end(
      JSON.stringify({ issuer: url(), authorization_endpoint: `${url()}/auth`, token_endpoint: `${url()}/token` }),
    )
  })
  await once(server.listen(0), 'listening')
})
afterAll(() => {
  server?.close()
  rmSync(folder, { recursive: true })
})

const url = () => `https://localhost:${(server.address() as AddressInfo).port}`

async function asked(
  env: Readonly<Record<string, string>>,
): Promise<{ readonly answer: string; readonly ready: string }> {
  const site = await GatewaySite.start({
    ...{ files: { 'gateway.key': makeSealingKey() }, env },
    config: {
      identity: { provider: 'oidc', oidc: { issuer: url(), audience: 'skylab', timeoutSeconds: 5 } },
      gateway: { login: 'oidc', keyFiles: ['gateway.key'], oidc: { clientId: 'skylab-gateway' } },
    },
  })
  try {
    const answer = await site.ask('GET /console/login', ['Accept: text/html'])
    return { answer, ready: await (await fetch(`${site.gateways[0]!.monitoringUrl}/readyz`)).text() }
  } finally {
    await site.stop()
  }
}

test('a gateway logs people in at an issuer whose authority it is told', async () => {
  const { answer } = await asked({ NODE_EXTRA_CA_CERTS: authority.caFile })
  expect([statusOf(answer), new URL(locationOf(answer)).origin]).toEqual([303, url()])
})

test('a gateway that does not know the authority answers 503, and /readyz says what is wrong and where to name it', async () => {
  const { answer, ready } = await asked({})
  expect([statusOf(answer), answer.includes('The identity provider does not answer.')]).toEqual([503, true])
  expect(ready).toMatch(
    /the identity provider: its certificate is not from a trusted authority \(.*NODE_EXTRA_CA_CERTS/,
  )
})
