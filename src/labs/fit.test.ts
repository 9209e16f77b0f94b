import { describe, expect, it } from 'vitest'
import type { ApiError } from '../base/errors.ts'
import { configSchema } from '../config/schema.ts'
import { requireFit } from './fit.ts'

const ada = { username: 'ada', uid: 1000, gid: 1000, groups: [] }
const root = { provisioning: { image: 'prepare', runAsRoot: true } }

function refusal(applicant: object, { identity = {}, lab = {} } = {}): string | undefined {
  try {
    requireFit(configSchema.parse({ identity, lab }), { ...ada, ...applicant })
    return undefined
  } catch (error) {
    expect(error).toMatchObject({ status: 403 })
    return (error as ApiError).detail[0]?.msg
  }
}

describe('requireFit with ids', () => {
  it.each<[object, string]>([
    [{ uid: 999 }, 'Your UID 999 is below 1000, the lowest that this site accepts for labs (identity.minUid)'],
    [{ gid: 0 }, 'Your primary GID 0 is below 1000, the lowest that this site accepts for labs (identity.minGid)'],
    [
      { groups: [{ name: 'a' }, { name: 'disk', id: 6 }] },
      "Your group disk's GID 6 is below 1000, the lowest that this site accepts for labs (identity.minGid)",
    ],
  ])('refuses ids of the system, with a reason: %j', (applicant, msg) => {
    expect(refusal(applicant)).toBe(msg)
  })

  it('accepts the least ids, and groups without a number', () => {
    expect(refusal({ groups: [{ name: 'a' }, { name: 'b', id: 1000 }] })).toBeUndefined()
    expect(refusal({ uid: undefined, gid: undefined })).toBeUndefined()
  })

  it('accepts lower ids when a site allows them', () => {
    const identity = { minUid: 500, minGid: 100 }
    expect(refusal({ uid: 500, gid: 100, groups: [{ name: 'users', id: 100 }] }, { identity })).toBeUndefined()
    expect(refusal({ gid: 99 }, { identity })).toMatch(/GID 99 is below 100/)
  })
})

describe('requireFit with names', () => {
  const odd = ['Ada Lovelace', 'a$(id)', 'a;b', "a'b", 'a"b', 'a`b', '-rf', '.new-1000', 'ä', 'a\\b', 'a|b', 'a*']
  const plain = ['ada', 'Ada_L', 'a.b-c', 'ada@example.org', '_x', '5f3a', 'a+b']

  it.each(odd)('refuses a name before a container that runs as root: %s', username => {
    expect(refusal({ username }, { lab: root })).toMatch(/identity\.usernamePattern/)
  })

  it.each(plain)('accepts a name before a container that runs as root: %s', username => {
    expect(refusal({ username }, { lab: root })).toBeUndefined()
  })

  it('accepts any name when nothing runs as root', () => {
    for (const username of odd) expect(refusal({ username })).toBeUndefined()
  })

  it('requires that the whole name matches the pattern of the site', () => {
    const identity = { usernamePattern: 'a|[a-z]+ [a-z]+' }
    expect(refusal({ username: 'ada lovelace' }, { identity, lab: root })).toBeUndefined()
    expect(refusal({ username: 'ab' }, { identity })).toMatch(/usernamePattern/)
  })
})
