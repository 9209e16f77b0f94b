/** Ingresses that are known by their certificates: each vouches for one scope, whatever else a request contains. */
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TestAuthority } from '../../test/kit/tls/authority.ts'
import type { Scope } from '../base/domain.ts'
import { Ingress, type IngressSecrets, secretHeader } from './ingress.ts'

const names = { user: ['ingress-user.skylab'], admin: ['ingress-admin.skylab'], lab: ['ingress-lab.skylab'] }
const user: Scope = 'exec:notebook'
const admin: Scope = 'admin:jupyterlab'

let folder: string
const shown: Record<string, X509Certificate> = {}
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'skylab-ingress-'))
  const authority = new TestAuthority(folder)
  const issue = (name: string, commonName: string, ...alternatives: string[]) => {
    shown[name] = new X509Certificate(authority.issue(name, { commonName, alternatives }).cert)
  }
  issue('user', 'any', 'DNS:ingress-user.skylab')
  issue('admin', 'any', 'DNS:ingress-admin.skylab')
  issue('lab', 'any', 'DNS:ingress-lab.skylab')
  issue('by subject', 'ingress-admin.skylab')
  issue('other', 'ingress-admin.skylab', 'DNS:other.skylab')
  issue('wildcard', 'any', 'DNS:*.skylab')
  issue('both', 'any', 'DNS:ingress-user.skylab', 'DNS:ingress-admin.skylab')
}, 60_000)
afterAll(() => rmSync(folder, { recursive: true }))

const none: IngressSecrets = { user: [], admin: [], lab: [] }
const both: IngressSecrets = {
  ...{ user: ['the-secret-of-users'], admin: ['the-secret-of-administrators'], lab: [] },
}

function statusOf(scope: Scope | 'lab', name: string | undefined, secrets = none, secret = ''): number {
  const headers = new Headers(secret ? { [secretHeader]: secret } : {})
  try {
    new Ingress({ secrets, names }).requireIngress(headers, scope, () => (name ? shown[name] : undefined))
    return 200
  } catch (error) {
    return (error as { status: number }).status
  }
}

describe('Ingress with certificates', () => {
  test.each([
    ['user', 200, 403, 403],
    ['admin', 403, 200, 403],
    ['lab', 403, 403, 200],
    ['by subject', 403, 200, 403],
    ['other', 401, 401, 401],
    ['wildcard', 401, 401, 401],
    ['both', 403, 403, 403],
    [undefined, 401, 401, 401],
  ])(
    '%s is answered %i on routes of users, %i on those of administrators, %i on those of labs',
    (name, ...statuses) => {
      expect([user, admin, 'lab' as const].map(scope => statusOf(scope, name))).toEqual(statuses)
    },
  )

  test('uses only the certificate when the request has the secret of the other ingress too', () => {
    expect(statusOf(admin, 'user', both, 'the-secret-of-administrators')).toBe(403)
    expect(statusOf(user, 'admin', both, 'the-secret-of-users')).toBe(403)
  })

  test('accepts a shared secret without a certificate, as during a change from one to the other', () => {
    expect(statusOf(admin, undefined, both, 'the-secret-of-administrators')).toBe(200)
    expect(statusOf(admin, 'other', both, 'the-secret-of-administrators')).toBe(200)
    expect(statusOf(admin, undefined, both, 'the-secret-of-users')).toBe(403)
  })
})
