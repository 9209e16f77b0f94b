import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../base/domain.ts'
import { lastAnnotation } from './facts.ts'
import { firstStage, nextWrites, plan, wishText } from './plan.ts'
import { object, owner, parent, parentFact, paths, planned, rights, seen, sharing, wish } from './testing/plans.ts'
import type { Act, Path, Wanted } from './types.ts'

const short = (act: Act) => [act.act, act.stage, ...(act.act === 'remove' ? [act.why] : [])]

describe('plan', () => {
  test('creates what is absent', () => {
    const wanted = wish(object('a', { data: { x: '1' } }))
    expect(planned([wanted], [])).toEqual([{ act: 'create', stage: 1, object: wanted.object }])
  })

  test('changes what differs, and only that', () => {
    const fact = seen(object('a', { data: { x: '1', y: '2' } }))
    const acts = planned([wish(object('a', { data: { x: '3' } }))], [fact])
    expect(acts).toEqual([{ act: 'change', stage: 1, fact, patch: { data: { x: '3', y: null } } }])
    expect(planned([wish(object('a', { data: { x: '1', y: '2' } }))], [fact])).toEqual([])
  })

  test('changes a part of an object, and leaves all else, also its last wish, when the wish is a part', () => {
    const last = { metadata: { annotations: { [lastAnnotation]: '{"data":{"x":"1","y":"2"}}' } } }
    const fact = seen(object('a', { data: { x: '1', y: '2' } }))
    const standing = { ...fact, owned: { ...fact.owned, ...last } }
    const acts = planned([wish(object('a', { data: { x: '0' } }), { compare: 'part', restricts: true })], [standing])
    expect(acts).toEqual([
      { act: 'change', stage: firstStage, fact: standing, patch: { data: { x: '0' } }, restricts: true },
    ])
  })

  test('removes what is not wanted, before everything else', () => {
    const facts = [seen(object('a', { data: { x: '1' } })), seen(object('old'))]
    const acts = planned([wish(object('new'), { stage: 0 }), wish(object('a', { data: {} }), { stage: 2 })], facts)
    expect(acts.map(short)).toEqual([
      ['remove', firstStage, 'unwanted'],
      ['create', 0],
      ['change', 2],
    ])
  })

  test('takes unwanted elements of a grant before it adds others', () => {
    const fact = seen(object('a', { list: ['ada', 'eve'] }))
    const acts = planned([wish(object('a', { list: ['ada', 'bob'] }), { stage: 3 })], [fact], rights)
    expect(acts).toEqual([
      { act: 'change', stage: firstStage, fact, patch: { list: ['ada'] }, shrinks: true },
      { act: 'change', stage: 3, fact, patch: { list: ['ada', 'bob'] } },
    ])
  })

  test('only adds to a grant at its own stage', () => {
    const acts = planned([wish(object('a', { list: ['ada', 'bob'] }))], [seen(object('a', { list: ['ada'] }))], rights)
    expect(acts.map(short)).toEqual([['change', 1]])
  })

  test('removes what no patch can change', () => {
    const fact = seen(object('a', { data: { x: '1' } }))
    const acts = planned([wish(object('a', { data: { x: '2' } }), { immutable: [['data', 'x']] })], [fact])
    expect(acts.map(short)).toEqual([['remove', 1, 'immutable']])
  })

  test('removes what no patch can change at once if it gives rights', () => {
    const fact = seen(object('a', { data: { x: '1' } }))
    const wanted = wish(object('a', { data: { x: '2' } }), { immutable: [['data', 'x']] })
    expect(planned([wanted], [fact], rights).map(short)).toEqual([['remove', firstStage, 'immutable']])
  })

  test.each<[string, object, Wanted[]]>([
    ['unwanted', {}, []],
    ['of a former parent', { owners: [owner('p0')] }, [wish(object('a', { list: ['ada'] }))]],
    ['being deleted, and unwanted', { deleting: true }, []],
  ])('empties an object of rights that is %s before all else', (_what, more, wanted) => {
    const fact = { ...seen(object('a', { list: ['ada'] })), ...more }
    expect(planned(wanted, [fact], rights)).toEqual([
      { act: 'change', stage: firstStage, fact, patch: { list: [] }, shrinks: true },
    ])
    const emptied = { ...fact, owned: { list: [] } }
    const isDeleting = 'deleting' in more
    expect(planned(wanted, [emptied], rights).map(({ act }) => act)).toEqual(isDeleting ? [] : ['remove'])
  })

  test('takes unwanted rights also from an object that is being deleted, and then awaits its end', () => {
    const fact = { ...seen(object('a', { list: ['ada', 'eve'] })), deleting: true }
    const acts = planned([wish(object('a', { list: ['ada'] }))], [fact], rights)
    expect(acts.map(short)).toEqual([
      ['change', firstStage],
      ['await', 1],
    ])
    expect(acts[0]).toMatchObject({ patch: { list: ['ada'] } })
  })

  test('lets an object of rights have no owner but its parents', () => {
    const other = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'n1' }
    const fact = seen(object('a', { list: ['ada'] }, [other, owner('p1')]))
    expect(planned([wish(object('a', { list: ['ada'] }))], [fact], rights)).toMatchObject([
      { act: 'change', patch: { metadata: { ownerReferences: [owner('p1')] } } },
    ])
  })

  test('corrects what restricts with the revocations, if it can be there', () => {
    const restricting = wish(object('b', { data: { x: '1' } }), { stage: 1, restricts: true })
    const first = wish(object('a'), { stage: 0 })
    expect(planned([first, restricting], []).map(short)).toEqual([
      ['create', 0],
      ['create', 1],
    ])
    expect(planned([first, restricting], [seen(object('a'))]).map(short)).toEqual([['create', firstStage]])
    const changed = seen(object('b', { data: { x: '2' } }))
    expect(planned([first, restricting], [changed]).map(short)).toEqual([
      ['change', firstStage],
      ['create', 0],
    ])
  })

  test('awaits the end of a former parent’s object if its wish says so, and takes its rights', () => {
    const fact = seen(object('a', { list: ['ada'] }, [owner('p0')]))
    const wanted = wish(object('a', { list: ['ada'] }), { former: 'await' })
    expect(planned([wanted], [fact], rights).map(short)).toEqual([
      ['change', firstStage],
      ['await', 1],
    ])
    expect(planned([wanted], [fact]).map(short)).toEqual([['await', 1]])
  })

  test('adopts what its wish adopts, but nothing of another parent', () => {
    const wanted = wish(object('a', { data: { x: '1' } }), { adopts: ({ owned }) => owned.list !== undefined })
    const fact = seen(object('a', { list: ['adopt'] }, []))
    expect(planned([wanted], [fact])).toMatchObject([
      { act: 'change', stage: 1, patch: { data: { x: '1' }, metadata: { ownerReferences: [owner('p1')] } } },
    ])
    const theirs = seen(object('a', { list: ['adopt'] }, [{ ...owner('q1'), name: 'q' }]))
    expect(planned([wanted], [theirs]).map(short)).toEqual([['conflict', 1]])
    expect(planned([wanted], [seen(object('a', {}, []))]).map(short)).toEqual([['conflict', 1]])
  })

  test('refuses fields of a wish, or of rights, that no source owns', () => {
    const labelled = { ...object('a'), metadata: { ...object('a').metadata, labels: { x: '1' } } }
    expect(() => planned([wish(labelled)], [])).toThrow('no source owns metadata of a ConfigMap')
    expect(() => planned([wish(object('a', { other: 1 }))], [])).toThrow('no source owns other')
    expect(() => planned([wish(object('a'))], [], [['subjects']])).toThrow('no source owns subjects')
    expect(() => planned([wish({ ...object('a'), kind: 'Pod' })], [])).toThrow('no source shows v1 Pod')
  })

  test.each<[string, object, string | undefined]>([
    ['all of what is owned', { spec: { a: 1, b: { c: 2 } }, data: { x: { y: 1 } } }, undefined],
    ['a field without a value', { data: { z: undefined } }, undefined],
    ['a field beside what is owned', { data: { x: 1, z: 1 } }, 'no source owns data.z of a ConfigMap'],
    ['nothing where something below is owned', { data: null }, 'no source owns data of a ConfigMap'],
  ])('judges a wish of %s by the paths of its source', (_what, more, message) => {
    const owned: Path[] = [['spec'], ['spec', 'a'], ['data', 'x']]
    const sources = [{ watch: { apiVersion: 'v1', kind: 'ConfigMap' }, paths: owned }]
    const judged = () =>
      plan({ objects: [wish(object('a', more))], standing: [], parent: parentFact }, { parent, sources })
    if (message === undefined) expect(judged()).toHaveLength(1)
    else expect(judged).toThrow(message)
  })

  test('awaits what is being deleted', () => {
    const fact = { ...seen(object('a')), deleting: true }
    expect(planned([wish(object('a'))], [fact]).map(short)).toEqual([['await', 1]])
    expect(planned([], [fact])).toEqual([])
  })

  test('removes what belonged to a former parent of this name', () => {
    const fact = seen(object('a', {}, [owner('p0')]))
    expect(planned([wish(object('a'))], [fact]).map(short)).toEqual([['remove', firstStage, 'former']])
  })

  test.each<[string, object[]]>([
    ['without owners', []],
    ['with another kind of owner', [{ apiVersion: 'sample/v1', kind: 'Other', name: 'p', uid: 'p1' }]],
    ['with an owner of another group', [{ apiVersion: 'other/v1', kind: 'Sample', name: 'p', uid: 'p1' }]],
    ['of another parent', [{ ...owner('q1'), name: 'q' }]],
  ])('never touches an object %s', (_what, owners) => {
    const fact = seen(object('a', { data: { x: '1' } }, owners))
    expect(planned([wish(object('a'))], [fact])).toEqual([{ act: 'conflict', stage: 1, fact }])
    expect(planned([], [fact])).toEqual([])
  })

  test('takes a shared object over from one parent to another, by a change', () => {
    const fact = seen(object('a', {}, [{ ...owner('q1'), name: 'q' }]))
    expect(sharing([wish(object('a'))], [fact])).toEqual([
      { act: 'change', stage: 1, fact, patch: { metadata: { ownerReferences: [owner('p1')] } } },
    ])
    expect(sharing([], [fact]).map(short)).toEqual([['remove', firstStage, 'unwanted']])
  })

  test('knows its objects when the version of the parents changes', () => {
    const fact = seen(object('a', {}, [{ ...owner('p1'), apiVersion: 'sample/v2' }]))
    expect(planned([wish(object('a'))], [fact]).map(short)).toEqual([['change', 1]])
  })

  test('writes owners as a whole, and leaves others’ owners', () => {
    const other = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'n1' }
    const fact = seen(object('a', {}, [other, owner('p1'), owner('p2')]))
    const wanted = wish(object('a', {}, [owner('p2'), owner('p3')]))
    expect(planned([wanted], [fact])).toEqual([
      { act: 'change', stage: 1, fact, patch: { metadata: { ownerReferences: [other, owner('p2'), owner('p3')] } } },
    ])
  })

  test('notes the wish of an object that the server fills with defaults', () => {
    const wanted = wish(object('a', { data: { x: '1' } }), { compare: 'covers' })
    const [create] = planned([wanted], [])
    const made = (create as { object: KubeObject }).object
    expect(made.metadata.annotations).toEqual({ [lastAnnotation]: '{"data":{"x":"1"}}' })
    const filled = seen({ ...made, data: { x: '1', byDefault: '2' } })
    expect(planned([wanted], [filled])).toEqual([])
    expect(planned([wish(object('a', { data: { y: '1' } }), { compare: 'covers' })], [filled])).toMatchObject([
      { patch: { data: { x: null, y: '1' }, metadata: { annotations: { [lastAnnotation]: '{"data":{"y":"1"}}' } } } },
    ])
  })

  test('leaves a field alone that the wish of now and of before names without a value', () => {
    const wanted = wish(object('a', { data: { x: '1', y: undefined } }), { compare: 'covers' })
    const made = (planned([wanted], [])[0] as { object: KubeObject }).object
    const filled = seen({ ...made, data: { x: '1', y: 'by default' } })
    expect(planned([wanted], [filled])).toEqual([])
  })

  test('refuses a wish without a parent, a wish of one name twice, and a Secret with its wish in an annotation', () => {
    expect(() => planned([wish(object('a', {}, []))], [])).toThrow('has no Sample as its owner')
    expect(() => planned([wish(object('a')), wish(object('a'))], [])).toThrow('is wanted twice')
    const secret = wish({ ...object('a'), kind: 'Secret' }, { compare: 'covers' })
    const sources = [{ watch: { apiVersion: 'v1', kind: 'Secret' }, paths }]
    const planSecret = () => plan({ objects: [secret], standing: [], parent: parentFact }, { parent, sources })
    expect(planSecret).toThrow('must be compared exactly')
  })
})

describe('nextWrites', () => {
  const at = (stage: number, name: string) => wish(object(name), { stage })
  const names = (acts: Act[]) => acts.map(act => (act.act === 'create' ? act.object : act.fact.ref)).map(nameOf)
  const nameOf = (place: { name?: unknown; metadata?: unknown }) =>
    place.name ?? (place.metadata as { name: string }).name

  test('are those of the lowest stage', () => {
    expect(names(nextWrites(planned([at(2, 'c'), at(0, 'a'), at(0, 'b')], [])))).toEqual(['a', 'b'])
  })

  test('are none while an object of that stage is being deleted, or another’s', () => {
    const foreign = seen(object('a', {}, []))
    const deleted = { ...seen(object('a')), deleting: true }
    expect(nextWrites(planned([at(0, 'a'), at(0, 'b'), at(1, 'c')], [foreign]))).toEqual([])
    expect(names(nextWrites(planned([at(0, 'a'), at(0, 'b'), at(1, 'c')], [deleted])))).toEqual(['b'])
    expect(nextWrites(planned([at(0, 'a'), at(1, 'c')], [deleted]))).toEqual([])
  })

  test('are the removals, whatever is in conflict', () => {
    const facts = [seen(object('a', {}, [])), seen(object('old'))]
    expect(nextWrites(planned([at(0, 'a')], facts)).map(short)).toEqual([['remove', firstStage, 'unwanted']])
  })
})

test('wishText depends on the wishes, not on the order of their fields', () => {
  const [a, b] = [object('a', { data: { x: '1', y: '2' } }), object('a', { data: { y: '2', x: '1' } })]
  expect(wishText([wish(a)])).toBe(wishText([wish(b)]))
  const others = [
    wish(object('a', { data: { x: '1' } })),
    wish(object('b', { data: { x: '1', y: '2' } })),
    wish(object('a', { data: { x: '1', y: '2' } }, [owner('p2')])),
    ...[wish(a, { stage: 2 }), wish(a, { compare: 'covers' }), wish({ ...a, kind: 'Secret' })],
    wish({ ...a, metadata: { ...a.metadata, labels: { x: 'y' } } }),
  ]
  expect(new Set([wish(a), ...others].map(each => wishText([each]))).size).toBe(1 + others.length)
})
