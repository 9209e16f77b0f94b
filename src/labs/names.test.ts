import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ApiError } from '../base/errors.ts'
import { checkUsername } from '../base/usernames.ts'
import { labNames } from './names.ts'

const dnsLabel = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const prefixes = fc.stringMatching(/^[a-z]([-a-z0-9]{0,30}[a-z0-9])?$/)
const labelUsers = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/)
const anyUsers = fc.string({ unit: 'binary', minLength: 1, maxLength: 256 })
const users = fc.oneof(anyUsers, labelUsers, fc.string({ minLength: 1 }))

const slugOf = (username: string, prefix = 'nublado') => labNames(prefix, username).namespace.slice(prefix.length + 1)

describe('labNames', () => {
  it('keeps a user name that is a DNS label', () => {
    expect(labNames('nublado', 'ada')).toEqual({
      namespace: 'nublado-ada',
      lab: 'nb-ada',
      env: 'nb-ada-env',
      nss: 'nb-ada-nss',
      pull: 'nb-ada-pull',
      provision: 'nb-ada-provision',
    })
    for (const name of ['0', 'a-b', 'a--b', '4266950', 'a'.repeat(55)]) expect(slugOf(name)).toBe(name)
  })

  it('gives other names a readable slug', () => {
    expect(slugOf('Zoë.Müller@example.org')).toMatch(/^zoe-muller-example-org--[0-9a-z]{19}$/)
    expect(slugOf('ADA')).toMatch(/^ada--[0-9a-z]{19}$/)
    expect(slugOf('雪')).toMatch(/^user--[0-9a-z]{19}$/)
    expect(slugOf('-ada-')).toMatch(/^ada--[0-9a-z]{19}$/)
    expect(slugOf('a'.repeat(56))).toMatch(/^a{34}--[0-9a-z]{19}$/)
  })

  it('keeps the names of earlier releases, since namespaces outlive releases', () => {
    expect(slugOf('Ada Lovelace')).toBe('ada-lovelace--3jy8ionjbqs8mubob67')
  })

  it('gives a slug to a user name that looks like another user’s slug', () => {
    const slug = slugOf('Ada Lovelace')
    expect(slugOf(slug)).not.toBe(slug)
  })

  it('returns only DNS labels', () => {
    fc.assert(
      fc.property(prefixes, users, (prefix, username) => {
        const names = labNames(prefix, username)
        for (const label of [names.namespace, names.lab]) {
          expect(label).toMatch(dnsLabel)
          expect(label.length).toBeLessThanOrEqual(63)
        }
        expect(names.env).toBe(`${names.lab}-env`)
        expect(names.namespace.slice(prefix.length + 1)).toBe(names.lab.slice(3))
      }),
    )
  })

  it('returns different names for different users, also for names made from names', () => {
    fc.assert(
      fc.property(prefixes, users, users, (prefix, one, other) => {
        const chain = [one, slugOf(one, prefix), slugOf(slugOf(one, prefix), prefix), one.toUpperCase(), other]
        const distinct = new Set(chain)
        expect(new Set([...distinct].map(name => labNames(prefix, name).namespace)).size).toBe(distinct.size)
        expect(new Set([...distinct].map(name => labNames(prefix, name).lab)).size).toBe(distinct.size)
      }),
    )
  })
})

describe('checkUsername', () => {
  it('accepts common forms of user names', () => {
    for (const name of [
      'ada',
      'Ada Lovelace',
      'zoë@example.org',
      'a'.repeat(255),
      '雪'.repeat(85),
      '...',
      '雪',
      "o'neill",
    ]) {
      expect(() => checkUsername(name)).not.toThrow()
    }
  })

  it.each([
    ['', 'is empty'],
    ['a'.repeat(256), 'is longer than 255 bytes'],
    ['雪'.repeat(86), 'is longer than 255 bytes'],
    ['a\nb', 'contains a control character'],
    ['a\u0000', 'contains a control character'],
    ['a\u0085', 'contains a control character'],
    ['a\u2028', 'contains a control character'],
    ['a\u202eb', 'contains an invisible character'],
    ['a\u2066b', 'contains an invisible character'],
    ['a\u200bb', 'contains an invisible character'],
    ['\ufeffa', 'contains an invisible character'],
    ['a\u00adb', 'contains an invisible character'],
    ['a:b', 'contains ":" or "/"'],
    ['a/b', 'contains ":" or "/"'],
    ['.', 'is the name of a folder'],
    ['..', 'is the name of a folder'],
    ['a\ud800', 'is not well-formed Unicode'],
  ])('refuses %j', (name, words) => {
    const refused = (() => {
      try {
        checkUsername(name)
      } catch (error) {
        return error
      }
    })()
    expect(refused).toBeInstanceOf(ApiError)
    expect((refused as ApiError).status).toBe(422)
    expect((refused as ApiError).detail).toEqual([
      { msg: `The user name ${words}`, type: 'invalid', loc: ['path', 'username'] },
    ])
  })
})
