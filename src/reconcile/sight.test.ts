import { beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import type { KubeObject } from '../base/domain.ts'
import { factOf } from './facts.ts'
import type { Sight } from './sight.ts'
import { FakeApi } from './testing/api.ts'
import type { Fact } from './types.ts'

let clock: ManualClock
let api: FakeApi
let sight: Sight

beforeEach(() => {
  clock = new ManualClock()
  api = new FakeApi()
  api.live = false
  sight = api.sight('v1', 'ConfigMap', [['data']], clock)
})

const map = (x: string, name = 'a'): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'n' }, data: { x } },
})
const dataOf = (fact: Fact | undefined) => (fact?.owned.data as { x: string } | undefined)?.x
const seen = () => dataOf(sight.get('n/a'))
const all = () => [...sight.values()].map(dataOf)

describe('Sight', () => {
  test('shows an answer before the watch does', () => {
    sight.lay(api.put(map('1')))
    expect([seen(), all()]).toEqual(['1', ['1']])
    api.show()
    expect([seen(), all()]).toEqual(['1', ['1']])
  })

  test('keeps an answer while the watch shows older states', () => {
    api.put(map('1'))
    api.show()
    api.put(map('2'))
    sight.lay(api.put(map('3')))
    const [older, newer] = [seen(), all()]
    expect([older, newer]).toEqual(['3', ['3']])
    api.put(map('4'))
    api.show()
    expect([seen(), all()]).toEqual(['4', ['4']])
  })

  test('ignores an answer that is older than what the watch shows', () => {
    const first = api.put(map('1'))
    api.put(map('2'))
    api.show()
    sight.lay(first)
    expect(seen()).toBe('2')
  })

  test('ignores an answer when a later one came before it', () => {
    const first = api.put(map('1'))
    api.show()
    const [second, third] = [api.put(map('2')), api.put(map('3'))]
    sight.lay(third)
    sight.lay(second)
    expect(seen()).toBe('3')
    sight.layDeleted(sight.get('n/a')!)
    for (const answer of [third, first]) sight.lay(answer)
    expect(sight.get('n/a')).toMatchObject({ deleting: true })
  })

  test('hides an object that is gone when a later state of it was known', () => {
    sight.lay(api.put(map('1')))
    const old = sight.get('n/a')!
    sight.lay(api.put(map('2')))
    sight.layGone(old)
    expect(sight.get('n/a')).toBeUndefined()
  })

  test('shows an object that we deleted as being deleted, until the watch shows its end', () => {
    const made = api.put(map('1'))
    api.show()
    sight.layDeleted(sight.get('n/a')!)
    expect(sight.get('n/a')).toMatchObject({ deleting: true, uid: made.metadata.uid })
    api.remove({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'n', name: 'a' })
    api.show()
    expect(sight.get('n/a')).toBeUndefined()
  })

  test('hides an object that is gone, but not the next one of its name', () => {
    api.put(map('1'))
    api.show()
    sight.layGone(sight.get('n/a')!)
    expect([seen(), all()]).toEqual([undefined, []])
    api.put({ ...map('2'), metadata: { ...map('2').metadata, uid: 'another' } })
    api.show()
    expect([seen(), all()]).toEqual(['2', ['2']])
  })

  test('keeps an answer when the watch tells of the end of an earlier object', () => {
    api.put(map('1'))
    api.show()
    api.remove({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'n', name: 'a' })
    sight.lay({ ...map('2'), metadata: { ...map('2').metadata, uid: 'another', resourceVersion: '9' } })
    api.show()
    expect(seen()).toBe('2')
  })

  test('finds objects by names that answers and the watch give them', () => {
    const ofData = sight.index(({ owned }) => Object.values((owned.data as object | undefined) ?? {}))
    const named = (x: string) => ofData(x).map(({ ref }) => ref.name)
    const made = api.put(map('1'))
    sight.lay(made)
    expect([named('1'), named('2')]).toEqual([['a'], []])
    api.show()
    sight.lay({ ...made, metadata: { ...made.metadata, resourceVersion: '9' }, data: { x: '2' } })
    expect([named('1'), named('2')]).toEqual([[], ['a']])
    clock.advance(120_000)
    expect([named('1'), named('2')]).toEqual([['a'], []])
    api.remove({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'n', name: 'a' })
    api.show()
    expect(named('1')).toEqual([])
    sight.lay(api.put(map('3', 'b')))
    const later = sight.index(({ ref }) => [ref.name])
    expect(later('b')).toHaveLength(1)
  })

  test('ignores an answer that comes after the end of its object', () => {
    const made = api.put(map('1'))
    api.show()
    api.remove({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'n', name: 'a' })
    api.show()
    sight.lay(made)
    sight.layDeleted({ ...factOf(made, []) })
    expect([seen(), all()]).toEqual([undefined, []])
  })

  test.each<[string, number]>([
    ['at which it left', 0],
    ['after that', 7],
  ])('shows an object that left what the watch selects, by an answer of the version %s', (_when, more) => {
    sight = api.sight('v1', 'ConfigMap', [['data']], clock, ({ metadata }) => metadata.labels?.ours === 'x')
    const made = api.put({ ...map('1'), metadata: { ...map('1').metadata, labels: { ours: 'x' } } })
    api.show()
    const left = api.put({ ...made, metadata: { ...made.metadata, labels: {} } })
    api.show()
    expect(seen()).toBeUndefined()
    const resourceVersion = String(Number(left.metadata.resourceVersion) + more)
    sight.lay({ ...left, metadata: { ...left.metadata, resourceVersion } })
    expect([seen(), all()]).toEqual(['1', ['1']])
    sight.layDeleted(sight.get('n/a')!)
    expect(sight.get('n/a')).toMatchObject({ deleting: true })
    sight.layGone(sight.get('n/a')!)
    expect(seen()).toBeUndefined()
  })

  test('keeps an answer when the watch shows late that the object left what it selects', () => {
    sight = api.sight('v1', 'ConfigMap', [['data']], clock, ({ metadata }) => metadata.labels?.ours === 'x')
    const made = api.put({ ...map('1'), metadata: { ...map('1').metadata, labels: { ours: 'x' } } })
    api.show()
    sight.lay(api.put({ ...made, metadata: { ...made.metadata, labels: {} } }))
    api.show()
    expect(seen()).toBe('1')
  })

  test('forgets an answer when a list lacks its object, and takes the next one', () => {
    const made = api.put(map('1'))
    api.show()
    sight.lay({ ...made, metadata: { ...made.metadata, resourceVersion: '9' }, data: { x: '2' } })
    api.lose(sight, 'n/a')
    expect([seen(), all()]).toEqual([undefined, []])
    sight.lay({ ...made, metadata: { ...made.metadata, resourceVersion: '9' }, data: { x: '2' } })
    expect(seen()).toBe('2')
  })

  test('forgets an answer that the watch never shows', () => {
    sight.lay({ ...map('1'), metadata: { ...map('1').metadata, uid: 'u', resourceVersion: '9' } })
    clock.advance(119_999)
    expect(seen()).toBe('1')
    clock.advance(1)
    expect([seen(), all()]).toEqual([undefined, []])
  })
})
