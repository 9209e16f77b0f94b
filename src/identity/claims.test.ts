import { describe, expect, it } from 'vitest'
import type { ApiError } from '../base/errors.ts'
import { configSchema } from '../config/schema.ts'
import { identityFromClaims } from './claims.ts'

function identityOf(claims: Record<string, unknown>, change: object = {}) {
  const block = { issuer: 'https://login.example.org', audience: 'skylab', ...change }
  const config = configSchema.parse({ identity: { oidc: block } }).identity.oidc!
  return identityFromClaims({ sub: 'ada', ...claims }, config)
}

describe('identityFromClaims', () => {
  it('finds claims by the configured names, also nested ones', () => {
    const claims = {
      preferred_username: 'ada',
      posix: { uid: 1, gid: '2' },
      realm_access: { roles: ['exec:notebook', 'offline_access'] },
      'https://example.org/teams': ['astronomers'],
      'posix.uid': 3,
    }
    const names = {
      username: 'preferred_username',
      uid: ['posix', 'uid'],
      gid: ['posix', 'gid'],
      scopes: ['realm_access', 'roles'],
      groups: 'https://example.org/teams',
    }
    expect(identityOf(claims, { claims: names })).toEqual({
      username: 'ada',
      uid: 1,
      gid: 2,
      scopes: ['exec:notebook', 'offline_access'],
      groups: [{ name: 'astronomers' }],
    })
  })

  it.each([
    ['a string', 'openid  exec:notebook', ['openid', 'exec:notebook']],
    ['an empty string', '', []],
    ['a list', ['exec:notebook'], ['exec:notebook']],
    ['nothing', undefined, []],
    ['null', null, []],
  ])('takes scopes from %s', (_, scope, scopes) => {
    expect(identityOf({ scope }).scopes).toEqual(scopes)
  })

  it('gives the scopes of groups to their members only, each once', () => {
    const groupScopes = { staff: ['exec:notebook'], hubs: ['exec:notebook', 'admin:jupyterlab'] }
    const of = (...groups: unknown[]) => identityOf({ groups, scope: 'exec:notebook' }, { groupScopes }).scopes
    expect(of({ name: 'hubs', id: 7 }, 'staff')).toEqual(['exec:notebook', 'admin:jupyterlab'])
    expect(of('staff', 'HUBS', 'constructor', '__proto__')).toEqual(['exec:notebook'])
    expect(identityOf({ groups: 'hubs'.split(',') }).scopes).toEqual([])
  })

  it('treats a null claim like a missing one', () => {
    expect(identityOf({ uid: null, gid: null, groups: null, quota: null })).toEqual({
      username: 'ada',
      scopes: [],
      groups: [],
    })
  })

  it.each([
    ['sub', { sub: undefined }],
    ['sub', { sub: '' }],
    ['sub', { sub: 7 }],
    ['sub', { sub: 'a/b' }],
    ['sub', { sub: 'a\nb' }],
    ['sub', { sub: 'x'.repeat(300) }],
    ['uid', { uid: 'ada' }],
    ['uid', { uid: -1 }],
    ['uid', { uid: 1.5 }],
    ['uid', { uid: '0x10' }],
    ['uid', { uid: '99999999999' }],
    ['uid', { uid: ['1'] }],
    ['gid', { gid: true }],
    ['groups', { groups: 'astronomers' }],
    ['groups', { groups: [7] }],
    ['groups', { groups: [''] }],
    ['groups', { groups: [{ id: 7 }] }],
    ['groups', { groups: [{ name: 'x', id: 'seven' }] }],
    ['quota', { quota: 'large' }],
    ['quota', { quota: { cpu: '2' } }],
    ['quota', { quota: { spawn: 'no' } }],
    ['scope', { scope: 7 }],
    ['scope', { scope: [7] }],
  ])('refuses a claim that cannot be used, by name: %s of %j', (name, claims) => {
    const refused = () => identityOf(claims)
    expect(refused).toThrow(`the claim ${name} of the token`)
    try {
      refused()
    } catch (error) {
      expect((error as ApiError).status).toBe(403)
    }
  })

  it('ignores properties of the prototype', () => {
    expect(identityOf({}, { claims: { uid: 'constructor' } })).not.toHaveProperty('uid')
    expect(identityOf({}, { claims: { uid: ['sub', 'length'] } })).not.toHaveProperty('uid')
    expect(() => identityOf({}, { claims: { username: 'constructor' } })).toThrow('the claim constructor')
    expect(() => identityOf({}, { claims: { username: ['sub', 'length'] } })).toThrow('the claim sub → length')
  })
})
