import { describe, expect, it } from 'vitest'
import { configSchema } from '../../config/schema.ts'
import { Sealer } from '../../store/sealing.ts'
import { BegunLogins } from './begun.ts'
import { OidcPages } from './oidc-pages.ts'
import type { Told } from './openid.ts'
import { loginParts, tell, visitOf } from './testing.ts'

const oidc = { issuer: 'https://i.example.org', audience: 'a', claims: { username: 'name' } }
const issuer = configSchema.parse({ identity: { provider: 'oidc', oidc } }).identity.oidc!
const ada: Told = { claims: { name: 'ada' }, subject: 'ada', scope: 'exec:notebook', refreshToken: 'r' }

function pages({ present, told = async () => ada }: { present?: string; told?: () => Promise<Told> } = {}) {
  const { parts, create } = loginParts(present)
  const begun = new BegunLogins(new Sealer([Buffer.alloc(32, 1)]), () => 0)
  const made = new OidcPages({
    ...{ ...parts, issuer, begun, used: { useOnce: async () => true }, rechecks: true, onLacking: () => {} },
    client: { begin: async () => 'https://i.example.org/', finish: told, end: async () => undefined },
  })
  const comeBack = () => {
    const { begun: login, cookies } = begun.begin('/console/apps/a/', [])
    const visit = visitOf({ Cookie: cookies[0]!.split(';')[0]! })
    return made.finish(visit, `code=c&state=${login.state}`, tell)
  }
  return { comeBack, create }
}

describe('OidcPages', () => {
  it.each([undefined, 'ada'])('logs somebody in when %s is logged in in the browser', async present => {
    const { comeBack, create } = pages(present === undefined ? {} : { present })
    expect(await comeBack()).toMatchObject({ status: 303, headers: { Location: '/console/apps/a/' } })
    expect(create).toHaveBeenCalledOnce()
  })

  it('refuses when somebody else is logged in in the browser: a script may have brought the way back', async () => {
    const { comeBack, create } = pages({ present: 'grace' })
    const answer = await comeBack()
    expect([answer.status, answer.body.includes('Log out first')]).toEqual([409, true])
    expect(JSON.stringify(answer.headers)).not.toContain('skylab-login')
    expect(create).not.toHaveBeenCalled()
  })

  it('lets a hundred come back at once from one address', async () => {
    const { promise, resolve } = Promise.withResolvers<Told>()
    const { comeBack } = pages({ told: () => promise })
    const all = Array.from({ length: 101 }, comeBack)
    const last = await all.pop()!
    resolve(ada)
    expect(new Set((await Promise.all(all)).map(({ status }) => status))).toEqual(new Set([303]))
    expect(last.status).toBe(429)
  })

  it('counts no try when the issuer knows somebody who lacks the scope', async () => {
    const { comeBack } = pages({ told: async () => ({ ...ada, scope: 'openid' }) })
    for (let i = 0; i < 150; i++) expect((await comeBack()).status).toBe(403)
  })
})
