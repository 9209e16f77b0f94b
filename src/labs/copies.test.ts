import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../base/domain.ts'
import type { ApiError } from '../base/errors.ts'
import { configSchema } from '../config/schema.ts'
import { copiedNames, copyFound, type FoundObject } from './copies.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')
const secret = (data?: Record<string, string>): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'any' }, data },
})
const configMap = (fields: object): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'any' } },
  ...fields,
})

interface Found {
  readonly secrets?: Record<string, FoundObject>
  readonly configMaps?: Record<string, FoundObject>
}

function copy(lab: object, { secrets = {}, configMaps = {} }: Found) {
  const maps = { secrets: new Map(Object.entries(secrets)), configMaps: new Map(Object.entries(configMaps)) }
  return copyFound(configSchema.parse({ lab }).lab, { namespace: 'skylab', ...maps })
}

function problemsOf(lab: object, found: Found): string[] {
  try {
    copy(lab, found)
  } catch (error) {
    expect(error).toMatchObject({ status: 500 })
    expect((error as ApiError).detail.every(({ type }) => type === 'misconfigured')).toBe(true)
    return (error as ApiError).detail.map(({ msg }) => msg)
  }
  throw new Error('nothing was wrong with it')
}

const files = { secrets: [{ name: 'lab', key: 'db' }] }
const map = (name: string, of: string) => ({ name, configMap: { name: of } })

describe('copiedNames', () => {
  it('names each object once', () => {
    const secrets = [
      { name: 'lab', key: 'a' },
      { name: 'lab', key: 'b' },
      { name: 'pull', key: 'c', pull: true },
    ]
    const volumes = [map('one', 'files'), map('two', 'files'), { name: 'three', emptyDir: {} }]
    const { lab } = configSchema.parse({ lab: { secrets, volumes } })
    expect(copiedNames(lab)).toEqual({ secrets: ['lab', 'pull'], configMaps: ['files'] })
  })
})

describe('copyFound', () => {
  it('copies nothing when nothing is configured', () => {
    expect(copy({}, {})).toEqual({ secrets: {}, configMaps: {} })
  })

  it('copies each key unchanged, under the name of its file', () => {
    const secrets = [
      { name: 'lab', key: 'db' },
      { name: 'lab', key: 'db', as: 'other' },
      { name: 'more', key: 'x.y' },
    ]
    const found = { lab: secret({ db: base64('one'), unasked: base64('two') }), more: secret({ 'x.y': '' }) }
    expect(copy({ secrets }, { secrets: found })).toEqual({
      secrets: { db: base64('one'), other: base64('one'), 'x.y': '' },
      configMaps: {},
    })
  })

  it('keeps the pull secret apart from the files', () => {
    const secrets = [{ name: 'pull', key: '.dockerconfigjson', pull: true }]
    const value = base64('{"auths": {}}')
    const found = { pull: secret({ '.dockerconfigjson': value }) }
    expect(copy({ secrets }, { secrets: found })).toEqual({ secrets: {}, pullSecret: value, configMaps: {} })
  })

  it('copies text and bytes of ConfigMaps, under the name of their volume', () => {
    const volumes = [map('one', 'texts'), map('two', 'bytes'), map('three', 'empty')]
    const found = {
      texts: configMap({ data: { a: 'b' } }),
      bytes: configMap({ binaryData: { c: 'AA==' } }),
      empty: configMap({}),
    }
    expect(copy({ volumes }, { configMaps: found }).configMaps).toEqual({
      one: { data: { a: 'b' } },
      two: { binaryData: { c: 'AA==' } },
      three: {},
    })
  })

  it('accepts names of inherited object properties', () => {
    expect(problemsOf({ secrets: [{ name: 'lab', key: 'toString' }] }, { secrets: { lab: secret({}) } })).toHaveLength(
      1,
    )
    const data = JSON.parse(`{"__proto__": "${base64('own')}"}`)
    const { secrets } = copy({ secrets: [{ name: 'lab', key: '__proto__' }] }, { secrets: { lab: secret(data) } })
    expect(Object.entries(secrets)).toEqual([['__proto__', base64('own')]])
  })
})

describe('copyFound fails', () => {
  it.each<[string, object, Found, string]>([
    [
      'a Secret that is missing',
      files,
      { secrets: { lab: null } },
      'The Secret lab in the namespace skylab is missing',
    ],
    [
      'a key that is missing',
      files,
      { secrets: { lab: secret({ x: '' }) } },
      'The Secret lab in the namespace skylab has no key db',
    ],
    [
      'a Secret without data',
      files,
      { secrets: { lab: secret() } },
      'The Secret lab in the namespace skylab has no key db',
    ],
    [
      'a Secret that it is not allowed to read',
      files,
      { secrets: { lab: 'may not be read' } },
      'The Secret lab in the namespace skylab may not be read',
    ],
    [
      'a ConfigMap that is missing',
      { volumes: [map('one', 'files')] },
      { configMaps: { files: null } },
      'The ConfigMap files in the namespace skylab is missing',
    ],
    [
      'a pull secret that the cluster would refuse',
      { secrets: [{ name: 'pull', key: 'k', pull: true }] },
      { secrets: { pull: secret({ k: base64('hunter2') }) } },
      'The key k of the Secret pull in the namespace skylab is no Docker config.json',
    ],
  ])('on %s', (_, lab, found, message) => {
    expect(problemsOf(lab, found)).toEqual([message])
  })

  it('with every problem at once, each named once', () => {
    const secrets = [
      { name: 'lab', key: 'a' },
      { name: 'lab', key: 'b' },
      { name: 'more', key: 'c' },
    ]
    expect(problemsOf({ secrets }, { secrets: { lab: null, more: secret({}) } })).toEqual([
      'The Secret lab in the namespace skylab is missing',
      'The Secret more in the namespace skylab has no key c',
    ])
  })

  const kib = (n: number) => Buffer.alloc(n * 1024).toString('base64')

  it('when a Secret cannot hold the files beside the token', () => {
    const two = {
      secrets: [
        { name: 'lab', key: 'a' },
        { name: 'lab', key: 'b' },
      ],
    }
    expect(Object.keys(copy(two, { secrets: { lab: secret({ a: kib(900), b: kib(108) }) } }).secrets)).toEqual([
      'a',
      'b',
    ])
    expect(problemsOf(two, { secrets: { lab: secret({ a: kib(900), b: kib(109) }) } })).toEqual([
      'The files of lab.secrets have 1033216 bytes, but a lab’s Secret holds at most 1032192',
    ])
  })

  it('when a plan cannot hold the copies', () => {
    const volumes = ['one', 'two', 'three'].map(name => map(name, 'files'))
    const half = configMap({ data: { a: 'é'.repeat(512 * 1024) } })
    expect(Object.keys(copy({ volumes: volumes.slice(1) }, { configMaps: { files: half } }).configMaps)).toHaveLength(2)
    expect(problemsOf({ volumes }, { configMaps: { files: half } })).toEqual([
      'The copies for lab.secrets and lab.volumes have 3145728 bytes, but a creation keeps at most 2097152',
    ])
  })
})
