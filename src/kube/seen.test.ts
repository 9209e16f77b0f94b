import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readEvent, seenObject } from './seen.ts'

const json = (value: unknown) => Buffer.from(JSON.stringify(value))
const type = fc.constantFrom('ADDED', 'MODIFIED', 'DELETED')
/** Strings that look like parts of an event, beside any others. */
const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string(),
  fc.constantFrom('","uid":"x', '"}},"type":"DELETED"', '\\', '\\"', '"resourceVersion":"9",', '\u2028', 'é', '\u0000'),
)
const plain = fc.stringMatching(/^[a-z0-9.-]{0,63}$/)
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })

/** Metadata with its fields in the order of Go's structure. */
const metadataOf = (value: fc.Arbitrary<string>) =>
  fc.record({
    ...{ name: maybe(value), generateName: maybe(value), namespace: maybe(value), uid: maybe(value) },
    ...{ resourceVersion: maybe(value), labels: maybe(fc.dictionary(hostile, hostile)) },
    annotations: maybe(fc.dictionary(hostile, hostile)),
  })

const fields = (metadata: Record<string, unknown>) => ({
  name: metadata.name ?? '',
  namespace: metadata.namespace,
  uid: metadata.uid ?? '',
  resourceVersion: metadata.resourceVersion,
})

/** What a line says by JSON.parse. */
function parsed(line: Buffer) {
  const event = JSON.parse(line.toString())
  const metadata = event.object?.metadata
  return typeof metadata?.resourceVersion === 'string'
    ? { type: event.type, ...fields(metadata) }
    : { type: event.type }
}

function read(line: Buffer) {
  const { type, seen } = readEvent(line)
  return seen ? { type, ...fields({ ...seen }) } : { type }
}

describe('readEvent', () => {
  test('reads what JSON.parse reads, whatever strings an event has', () => {
    const event = fc.record({
      type: fc.oneof(type, fc.constant('BOOKMARK'), hostile),
      object: fc.record({ kind: hostile, apiVersion: hostile, metadata: metadataOf(hostile), spec: fc.jsonValue() }),
    })
    fc.assert(
      fc.property(event, value => {
        expect(read(json(value))).toEqual(parsed(json(value)))
      }),
      { numRuns: 1_000 },
    )
  })

  test('reads what JSON.parse reads, in whatever order its fields are', () => {
    const shuffled = fc
      .tuple(
        type,
        metadataOf(plain),
        fc.shuffledSubarray(['name', 'generateName', 'namespace', 'uid', 'resourceVersion'], { minLength: 4 }),
      )
      .map(([type, metadata, keys]) => {
        const some = Object.fromEntries(keys.map(key => [key, metadata[key as 'uid']]))
        return { type, object: { kind: 'Pod', apiVersion: 'v1', metadata: some } }
      })
    fc.assert(
      fc.property(shuffled, value => {
        expect(read(json(value))).toEqual(parsed(json(value)))
      }),
      { numRuns: 1_000 },
    )
  })

  test('reads the head alone of an event as API servers encode it', () => {
    const identity = fc.record({
      ...{ name: plain, generateName: maybe(plain), namespace: plain, uid: plain, resourceVersion: plain },
    })
    const usual = fc
      .tuple(type, fc.boolean(), identity, metadataOf(hostile))
      .map(([type, isNamespace, own, others]) => {
        const { name, uid, resourceVersion } = own
        const { labels, annotations } = others
        const metadata = { ...(isNamespace ? { name, uid, resourceVersion } : own), labels, annotations }
        return { type, object: { kind: isNamespace ? 'Namespace' : 'Pod', apiVersion: 'v1', metadata, spec: {} } }
      })
    fc.assert(
      fc.property(usual, value => {
        const { seen, whole } = readEvent(json(value))
        expect(whole).toBeUndefined()
        expect(read(json(value))).toEqual(parsed(json(value)))
        expect(seen!.keep()()).toEqual(JSON.parse(JSON.stringify(value.object)))
      }),
    )
  })

  test('parses an event whose head is longer than any', () => {
    const object = { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'a'.repeat(2_000), resourceVersion: '7' } }
    expect(readEvent(json({ type: 'ADDED', object })).whole).toEqual({ type: 'ADDED', object })
  })

  test.each([null, {}, undefined, { metadata: { resourceVersion: 7 } }])('sees no object in %j', object => {
    expect(readEvent(json({ type: 'ADDED', object })).seen).toBeUndefined()
  })

  test('throws when a line is no JSON', () => {
    expect(() => readEvent(Buffer.from('{"type":'))).toThrow(SyntaxError)
  })
})

describe('SeenObject.keep', () => {
  const line =
    '{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"b","uid":"u","resourceVersion":"7"'
  const kept = (rest: string) => {
    const bytes = Buffer.from(line + rest)
    const read = readEvent(bytes).seen!.keep()
    bytes.fill(0)
    return read
  }

  test('copies the line', () => {
    expect(kept('},"spec":{"é":1}}}')()).toMatchObject({ metadata: { name: 'a' }, spec: { é: 1 } })
  })

  test.each([
    ['is no JSON', '},"spec":{'],
    ['has another UID', ',"uid":"other"}}}'],
    ['has another resource version', '},"metadata":{"uid":"u","resourceVersion":"8"}}}'],
  ])('throws when the rest of the line %s', (_what, rest) => {
    expect(kept(rest)).toThrow()
  })
})

test('seenObject is read already', () => {
  const object = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } }
  const { whole, keep, ...identity } = seenObject(object)
  expect(identity).toEqual({ name: 'a', namespace: undefined, uid: '', resourceVersion: '' })
  expect([whole, keep()()]).toEqual([object, object])
})
