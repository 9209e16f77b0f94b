import { describe, expect, it } from 'vitest'
import { ApiError } from '../base/errors.ts'
import type { NssUser } from './nss.ts'
import { baseNss, nssFiles } from './nss.ts'

const base = { passwd: 'root:x:0:0:root:/root:/bin/bash\n', group: 'root:x:0:\nstaff:x:50:\n' }

function user(changes: Partial<NssUser> = {}): NssUser {
  return { username: 'ada', uid: 1000, gid: 100, groups: [], home: '/home/ada', ...changes }
}

describe('nssFiles, passwd', () => {
  it('adds one line to the base', () => {
    expect(nssFiles(base, user()).passwd).toBe(`${base.passwd}ada:x:1000:100::/home/ada:/bin/bash\n`)
  })
})

describe('nssFiles, group', () => {
  const added = (changes: Partial<NssUser>) => nssFiles(base, user(changes)).group.slice(base.group.length)

  it('lists the user in every group but the primary one', () => {
    const groups = [
      { name: 'physics', id: 2000 },
      { name: 'ada', id: 100 },
      { name: 'no number' },
      { name: 'lab users', id: 2001 },
    ]
    expect(added({ groups })).toBe('physics:x:2000:ada\nada:x:100:\nlab users:x:2001:ada\n')
  })

  it('names a nameless primary group after the user', () => {
    expect(added({})).toBe('ada:x:100:\n')
    expect(added({ groups: [{ name: 'physics', id: 2000 }] })).toBe('physics:x:2000:ada\nada:x:100:\n')
  })

  it('lists each group once', () => {
    const physics = { name: 'physics', id: 2000 }
    expect(added({ groups: [physics, physics] })).toBe('physics:x:2000:ada\nada:x:100:\n')
  })
})

describe('nssFiles, names', () => {
  const refusal = (changes: Partial<NssUser>) => {
    try {
      return nssFiles(base, user(changes))
    } catch (error) {
      expect(error).toBeInstanceOf(ApiError)
      expect((error as ApiError).status).toBe(403)
      return (error as ApiError).message
    }
  }

  it.each(['', 'a:b', 'a,b', 'a\nb', 'a\u0000b', ' a', 'a ', '+a', '-a', '#a', 'a\u2028b'])('refuses %j', name => {
    expect(refusal({ username: name })).toBe(
      `The user name ${JSON.stringify(name)} cannot be written in /etc/passwd, so you cannot have a lab`,
    )
    expect(refusal({ groups: [{ name, id: 1 }] })).toBe(
      `The group ${JSON.stringify(name)} cannot be written in /etc/group, so you cannot have a lab`,
    )
  })

  it('refuses names of the base', () => {
    expect(refusal({ username: 'root' })).toBe('The user name "root" is taken in /etc/passwd, so you cannot have a lab')
    expect(refusal({ groups: [{ name: 'staff', id: 1 }] })).toBe(
      'The group "staff" is taken in /etc/group, so you cannot have a lab',
    )
    expect(refusal({ username: 'staff' })).toContain('is taken in /etc/group')
  })

  it('accepts any name of a group without GID', () => {
    expect(() => nssFiles(base, user({ groups: [{ name: 'staff' }, { name: 'a:b' }] }))).not.toThrow()
  })
})

it('has a default base of whole lines, with all fields', () => {
  for (const [text, fields] of [[baseNss.passwd, 7] as const, [baseNss.group, 4] as const]) {
    expect(text.endsWith('\n')).toBe(true)
    for (const line of text.trimEnd().split('\n')) expect(line.split(':').length).toBe(fields)
  }
})
