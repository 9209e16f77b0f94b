import { describe, expect, it } from 'vitest'
import { cloudtestSetIdOf, instanceSetIdOf, instanceSetIds, matchesSecretTag, secretTag, tagNames } from './tags.ts'

const token = 'a'.repeat(32)
const old = 'b'.repeat(32)
const secret = '0123456789abcdef0123456789abcdef01234567'

it('cloudtestSetIdOf is the set of no installation', () => {
  const ids = [cloudtestSetIdOf(token), ...instanceSetIds(token, [old])]
  expect(new Set(ids).size).toBe(3)
  expect(ids[0]).toMatch(/^[0-9a-f]{40}$/)
})

describe('instanceSetIds', () => {
  it('has the id of the present token first, and tells nothing of tokens', () => {
    const ids = instanceSetIds(token, [old])
    expect(ids).toEqual([instanceSetIdOf(token), instanceSetIdOf(old)])
    expect(ids[0]).toMatch(/^[0-9a-f]{40}$/)
    expect(ids[0]).not.toBe(ids[1])
  })
})

describe('tagNames', () => {
  it('begin with the prefix', () => {
    expect(tagNames('Arvados')).toMatchObject({ instanceSetId: 'ArvadosInstanceSetID', intent: 'ArvadosIntent' })
  })
})

describe('matchesSecretTag', () => {
  it.each(['plain', 'hmac'] as const)('knows the machine with the secret when the tag is %s', mode => {
    const tag = secretTag(secret, token, mode)
    expect(matchesSecretTag(tag, secret, [token])).toBe(true)
    expect(matchesSecretTag(tag, `${secret.slice(1)}0`, [token])).toBe(false)
    expect(matchesSecretTag(tag, '', [token])).toBe(false)
  })

  it('knows a machine that was made under a token before', () => {
    expect(matchesSecretTag(secretTag(secret, old, 'hmac'), secret, [token, old])).toBe(true)
    expect(matchesSecretTag(secretTag(secret, old, 'hmac'), secret, [token])).toBe(false)
  })

  it('takes the text of a tag for no secret when the tag is an HMAC', () => {
    const tag = secretTag(secret, token, 'hmac')
    expect(tag).not.toContain(secret)
    expect(matchesSecretTag(tag, tag, [token])).toBe(false)
  })

  it('matches nothing when the tag was removed', () => {
    expect(matchesSecretTag('', '', [token])).toBe(false)
    expect(matchesSecretTag('', secret, [token])).toBe(false)
  })
})
