import { describe, expect, it } from 'vitest'
import type { Identity, LabOptions } from '../base/domain.ts'
import { ApiError } from '../base/errors.ts'
import { configSchema } from '../config/schema.ts'
import { chooseLab, sizesFor } from './choose.ts'

const gib = 2 ** 30
const { lab } = configSchema.parse({
  lab: {
    sizes: {
      small: { limits: { cpu: 1, memory: '4Gi' } },
      tiny: { limits: { cpu: 0.001, memory: 1 } },
      own: { limits: { cpu: 2, memory: '8Gi', storage: '5Gi' }, requests: { cpu: 1.5, memory: '1Gi', storage: '1Gi' } },
    },
  },
})
const ada: Identity = { username: 'ada', token: 't', scopes: [], uid: 1000, gid: 100, groups: [] }

function refusal(identity: Identity, options: LabOptions = {}) {
  try {
    return chooseLab(lab, identity, options)
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError)
    return { status: (error as ApiError).status, ...(error as ApiError).detail[0] }
  }
}

describe('chooseLab with sizes', () => {
  it('takes the default size, with requests of a quarter of its limits', () => {
    expect(chooseLab(lab, ada, {})).toEqual({
      uid: 1000,
      gid: 100,
      size: 'small',
      quotas: { limits: { cpu: 1, memory: 4 * gib }, requests: { cpu: 0.25, memory: gib } },
      storage: { limit: 20 * gib, request: 0 },
    })
  })

  it('takes requests that are configured', () => {
    expect(chooseLab(lab, ada, { size: 'own' })).toMatchObject({
      size: 'own',
      quotas: { limits: { cpu: 2, memory: 8 * gib }, requests: { cpu: 1.5, memory: gib } },
      storage: { limit: 5 * gib, request: gib },
    })
  })

  it('requests at least the smallest amounts that Kubernetes has', () => {
    expect(chooseLab(lab, ada, { size: 'tiny' }).quotas.requests).toEqual({ cpu: 0.001, memory: 1 })
  })

  it.each(['huge', '', 'constructor', '__proto__'])('refuses the size %j, which does not exist', size => {
    expect(refusal(ada, { size })).toEqual({
      status: 422,
      msg: 'There is no such size, only small, tiny, own',
      type: 'invalid',
      loc: ['body', 'options', 'size'],
    })
  })
})

describe('chooseLab with quotas', () => {
  const quota = (cpu: number, memoryGib: number) => ({
    ...ada,
    quota: { cpu, memoryBytes: memoryGib * gib, spawn: true },
  })

  it('accepts a size whose limits equal the quota', () => {
    expect(chooseLab(lab, quota(2, 8), { size: 'own' }).size).toBe('own')
    expect(chooseLab(lab, { ...ada, quota: { spawn: true } }, { size: 'own' }).size).toBe('own')
  })

  it.each([
    [quota(1.9, 8), '2 CPUs of 1.9'],
    [quota(2, 7), '8Gi of memory of 7Gi'],
    [quota(0, 0), '2 CPUs of 0, 8Gi of memory of 0'],
  ])('refuses a size above the quota: %j', (identity, words) => {
    expect(refusal(identity, { size: 'own' })).toEqual({
      status: 403,
      msg: `The size own is more than your quota allows: ${words}`,
      type: 'forbidden',
      loc: ['body', 'options', 'size'],
    })
  })

  it('names the default size when that is above the quota', () => {
    expect(refusal(quota(0.5, 8))).toMatchObject({
      status: 403,
      msg: 'The default size small is more than your quota allows: 1 CPUs of 0.5',
    })
  })

  it('refuses every lab when the quota forbids labs', () => {
    expect(refusal({ ...ada, quota: { spawn: false } })).toEqual({
      status: 403,
      msg: 'Your quota does not allow labs',
      type: 'forbidden',
    })
  })
})

describe('chooseLab with groups', () => {
  const settings = configSchema.parse({
    lab: {
      defaultSize: 'large',
      sizes: {
        small: { limits: { cpu: 1, memory: '4Gi' } },
        large: { limits: { cpu: 4, memory: '16Gi' }, groups: ['physics', 'simulations'] },
      },
    },
  }).lab
  const member = { ...ada, groups: [{ name: 'ada', id: 100 }, { name: 'simulations' }] }
  const refused = (identity: Identity, options: LabOptions) => {
    try {
      return chooseLab(settings, identity, options)
    } catch (error) {
      return (error as ApiError).detail[0]
    }
  }

  it('refuses a size to users in none of its groups', () => {
    expect(refused(ada, { size: 'large' })).toEqual({
      msg: 'The size large is for members of physics, simulations',
      type: 'forbidden',
      loc: ['body', 'options', 'size'],
    })
    expect(() => chooseLab(settings, ada, { size: 'large' })).toThrow(expect.objectContaining({ status: 403 }))
    expect(refused(ada, {})).toMatchObject({ msg: 'The default size large is for members of physics, simulations' })
    expect(refused(ada, { size: 'small' })).toMatchObject({ size: 'small' })
  })

  it('gives a size to members of one of its groups, with a GID or without', () => {
    expect(refused(member, { size: 'large' })).toMatchObject({ size: 'large' })
  })

  it('checks groups before the quota, and the quota too', () => {
    const quota = { spawn: true, cpu: 1 }
    expect(refused({ ...ada, quota }, {})).toMatchObject({ msg: expect.stringContaining('is for members') })
    expect(refused({ ...member, quota }, {})).toMatchObject({ msg: expect.stringContaining('more than your quota') })
  })
})

describe('sizesFor', () => {
  const gib4 = { limits: { cpu: 1, memory: 4 * gib }, requests: { cpu: 0.25, memory: gib } }
  const { sizes } = configSchema.parse({
    lab: {
      sizes: {
        small: { limits: { cpu: 1, memory: '4Gi' } },
        large: { limits: { cpu: 4, memory: '16Gi' }, groups: ['simulations'] },
        constructor: { limits: { cpu: 2, memory: '8Gi' } },
      },
    },
  }).lab
  const namesFor = (identity: Pick<Identity, 'groups' | 'quota'>) =>
    sizesFor({ sizes }, identity).map(({ name }) => name)
  const member = { groups: [{ name: 'simulations' }] }

  it('offers the sizes that the user may have, in the order of the configuration', () => {
    expect(namesFor({ groups: [] })).toEqual(['small', 'constructor'])
    expect(namesFor(member)).toEqual(['small', 'large', 'constructor'])
    expect(sizesFor({ sizes }, { groups: [] })[0]).toEqual({ name: 'small', ...gib4 })
  })

  it('offers only sizes that fit the quota', () => {
    expect(namesFor({ ...member, quota: { spawn: true, cpu: 2 } })).toEqual(['small', 'constructor'])
    expect(namesFor({ ...member, quota: { spawn: true, memoryBytes: 4 * gib } })).toEqual(['small'])
    expect(namesFor({ ...member, quota: { spawn: true, cpu: 0.5 } })).toEqual([])
  })

  it('offers nothing when a quota forbids labs', () => {
    expect(namesFor({ ...member, quota: { spawn: false } })).toEqual([])
  })

  it('offers exactly the sizes that chooseLab accepts', () => {
    for (const groups of [[], member.groups]) {
      for (const cpu of [0.5, 1, 2, 4]) {
        const identity = { ...ada, groups, quota: { spawn: true, cpu } }
        const takes = (size: string) => {
          try {
            return chooseLab({ sizes, defaultSize: 'small', defaultStorage: gib }, identity, { size }).size === size
          } catch {
            return false
          }
        }
        expect(namesFor(identity)).toEqual(Object.keys(sizes).filter(takes))
      }
    }
  })
})

describe('chooseLab with ids', () => {
  const { uid: _uid, ...noUid } = ada
  const { gid: _gid, ...noGid } = ada

  it.each<[Identity, string]>([
    [noUid, 'You have no UID, without which you cannot have a lab'],
    [noGid, 'You have no primary GID, without which you cannot have a lab'],
    [{ ...ada, uid: 0 }, 'Your UID is 0, and labs do not run as root'],
    [{ ...ada, uid: -1 }, 'Your UID -1 cannot be used for a lab'],
    [{ ...ada, uid: 2 ** 31 }, 'Your UID 2147483648 cannot be used for a lab'],
    [{ ...ada, gid: 1.5 }, 'Your GID 1.5 cannot be used for a lab'],
    [
      { ...ada, groups: [{ name: 'a' }, { name: 'b', id: 2 ** 32 }] },
      "Your group b's GID 4294967296 cannot be used for a lab",
    ],
  ])('refuses ids with which no lab can run: %j', (identity, msg) => {
    expect(refusal(identity)).toEqual({ status: 403, msg, type: 'forbidden' })
  })

  it('accepts the largest ids', () => {
    expect(chooseLab(lab, { ...ada, uid: 2 ** 31 - 1, gid: 0 }, {})).toMatchObject({ uid: 2147483647, gid: 0 })
  })
})
