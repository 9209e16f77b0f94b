import { describe, expect, it, vi } from 'vitest'
import { ApiError, unavailable } from '../../base/errors.ts'
import { Ingress } from '../../identity/ingress.ts'
import { Unclear } from '../../identity/source.ts'
import { Refused } from '../server/refused.ts'
import { GafaelfawrPages, GafaelfawrWords } from './gafaelfawr-pages.ts'
import { loginParts, tell, visitOf } from './testing.ts'

const secret = 'the-secret-of-the-login-ingress'
const headers = { 'X-Auth-Request-User': 'ada', 'X-Auth-Request-Token': 'gt-ada', 'X-Skylab-Ingress-Secret': secret }
const next = '/console/apps/a/'

function pages(present?: string) {
  const { parts, create } = loginParts(present)
  const none = { user: [], admin: [], lab: [] }
  const ingress = new Ingress({ secrets: { ...none, user: [secret] }, names: none })
  const infoOf = vi.fn(async () => ({ username: 'ada', groups: [] }))
  return { pages: new GafaelfawrPages({ ...parts, ingress, users: { infoOf } }), create, infoOf }
}

describe('GafaelfawrPages', () => {
  it('makes a login when nobody is logged in', async () => {
    const { pages: made, create } = pages()
    expect(await made.begin(visitOf(headers), next, tell)).toMatchObject({ status: 303, headers: { Location: next } })
    expect(create).toHaveBeenCalledOnce()
  })

  it('makes none when a login of the same person holds: each one may end an older one', async () => {
    const { pages: made, create, infoOf } = pages('ada')
    const answer = await made.begin(visitOf(headers), next, tell)
    expect(answer).toMatchObject({ status: 303, headers: { Location: next } })
    expect(answer.headers).not.toHaveProperty('Set-Cookie')
    expect([create, infoOf].map(each => each.mock.calls.length)).toEqual([0, 0])
  })

  it('refuses when somebody else is logged in', async () => {
    const { pages: made, create } = pages('grace')
    expect((await made.begin(visitOf(headers), next, tell)).status).toBe(409)
    expect(create).not.toHaveBeenCalled()
  })

  it('leads nobody on who is logged in when the request is not of the ingress', async () => {
    const { pages: made } = pages('ada')
    const guess = { ...headers, 'X-Skylab-Ingress-Secret': 'x'.repeat(20) }
    expect((await made.begin(visitOf(guess), next, tell)).status).toBe(403)
  })

  it('refuses HEAD', async () => {
    const { pages: made, create } = pages()
    const refused = await made.begin(visitOf(headers, 'HEAD'), next, tell).catch(error => error)
    expect(refused).toBeInstanceOf(Refused)
    expect([refused.answer.status, create.mock.calls.length]).toEqual([405, 0])
  })
})

const wordOf = (error: Error) =>
  new GafaelfawrWords({
    infoOf: async () => {
      throw error
    },
  })
    .again({ token: 'gt-ada' }, 'ada')
    .catch(thrown => thrown)

describe('GafaelfawrWords', () => {
  it('says that this answer alone is missing when the person asks too much at once', async () => {
    expect(await wordOf(new ApiError(429, { msg: 'too many', type: 'too_many' }))).toBeInstanceOf(Unclear)
  })

  it('says that Gafaelfawr is away when it is', async () => {
    const error = await wordOf(unavailable('away'))
    expect([error.status, error instanceof Unclear]).toEqual([503, false])
  })
})
