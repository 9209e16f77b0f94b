import { describe, expect, it } from 'vitest'
import { unavailable } from '../../base/errors.ts'
import { configSchema } from '../../config/schema.ts'
import { OidcWords } from './oidc-words.ts'
import { Denied, type Told } from './openid.ts'

const oidc = { issuer: 'https://i.example.org', audience: 'a', claims: { username: 'name' } }
const issuer = configSchema.parse({ identity: { provider: 'oidc', oidc } }).identity.oidc!
const former = { token: 'token-1', subject: 'id-1', scope: 'openid exec:notebook' }
const told: Told = { claims: { name: 'ada', groups: ['physics'] }, subject: 'id-1' }

const word = (answer: Partial<Told> | Error) => {
  const again = async () => {
    if (answer instanceof Error) throw answer
    return { ...told, ...answer }
  }
  return new OidcWords({ again }, issuer).again(former, 'ada')
}

describe('OidcWords', () => {
  it('keeps what the issuer does not replace', async () => {
    expect(await word({})).toEqual({ groups: ['physics'], kept: former })
    const renewed = { refreshToken: 'token-2', scope: 'exec:notebook' }
    expect(await word(renewed)).toEqual({
      groups: ['physics'],
      kept: { token: 'token-2', subject: 'id-1', scope: 'exec:notebook' },
    })
  })

  it.each<[string, Partial<Told> | Error]>([
    ['it refuses the token', new Denied('invalid_grant')],
    ['it speaks of somebody else', { subject: 'id-2' }],
    ['the name is another one', { claims: { ...told.claims, name: 'eve' } }],
    ['the scope is gone', { scope: 'openid' }],
    ['a claim cannot be used', { claims: { ...told.claims, groups: 7 } }],
  ])('ends the login when %s', async (_, answer) => {
    expect(await word(answer)).toBe('ended')
  })

  it('ends nothing when the issuer is away', async () => {
    await expect(word(unavailable('away'))).rejects.toMatchObject({ status: 503 })
  })
})
