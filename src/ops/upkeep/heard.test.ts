import { describe, expect, it } from 'vitest'
import { labOf } from '../../base/subject.ts'
import type { NamespaceFacts, PodFacts } from '../../kube/pods/facts.ts'
import { projectNamespace, projectPod } from '../../kube/pods/project.ts'
import type { Ring } from '../../store/rings.ts'
import { namespaceObject, podObject } from '../testing/cluster.ts'
import { Heard, isExplained } from './heard.ts'

type What = Extract<Ring, { subject: object }>['what']
type Rung = readonly [what: What, op: number]

/** Hears rings of one user. `creations`: ops of namespaces in the cluster. @returns the last state and what each ring said */
function hear(rings: readonly Rung[], creations: readonly number[] = []) {
  const heard = new Heard()
  const deleted = rings.map(([what, op]) =>
    heard.hear({ what, subject: labOf('ada'), op }, (_, asked) => creations.includes(asked)),
  )
  return { heard, last: heard.of('ada'), isDeleted: deleted.at(-1) }
}

describe('Heard', () => {
  it.each<[string, readonly Rung[], object]>([
    ['runs after its acceptance', [['accepted', 7]], { op: 7, state: 'runs' }],
    [
      'runs when released',
      [
        ['accepted', 7],
        ['released', 7],
      ],
      { op: 7, state: 'runs' },
    ],
    ['is done after its end, as a namespace of it shows', [['ended', 7]], { op: 7, state: 'done' }],
    [
      'has failed after both rings of a failure',
      [
        ['failed', 7],
        ['ended', 7],
      ],
      { op: 7, state: 'failed' },
    ],
    [
      'runs when it superseded another',
      [
        ['accepted', 7],
        ['ended', 7],
        ['accepted', 8],
      ],
      { op: 8, state: 'runs' },
    ],
    [
      'keeps its state after a ring of an earlier one',
      [
        ['accepted', 8],
        ['ended', 7],
      ],
      { op: 8, state: 'runs' },
    ],
  ])('knows that an operation %s', (_, rings, last) => {
    expect(hear(rings, [7]).last).toMatchObject(last)
  })

  it('forgets a lab at the end of an operation that made no namespace', () => {
    const heard = new Heard()
    const operate = (user: string, op: number) => {
      for (const what of ['accepted', 'events', 'ended'] as const) {
        heard.hear({ what, subject: labOf(user), op }, () => false)
      }
    }
    for (let op = 1; op <= 100; op++) operate(`user-${op}`, op)
    expect(heard.size).toBe(0)
  })

  it('forgets all after a ring of the installation', () => {
    const { heard } = hear([['accepted', 7]])
    heard.hear({ what: 'missed' }, () => true)
    expect(heard.of('ada')).toBeUndefined()
  })

  const deletion: readonly Rung[] = [
    ['accepted', 7],
    ['ended', 7],
    ['accepted', 8],
    ['ended', 8],
  ]

  it('recognises the end of a deletion: it follows a creation that did not fail', () => {
    expect(hear(deletion, [7])).toMatchObject({ isDeleted: true, last: undefined })
  })

  it.each<[string, readonly Rung[], readonly number[]]>([
    ['the operation before made no namespace', deletion, []],
    ['it made a namespace itself', deletion, [7, 8]],
    ['it failed', [...deletion.slice(0, 3), ['failed', 8], ['ended', 8]], [7]],
    ['the lab before had failed', [['accepted', 7], ['failed', 7], ['ended', 7], ...deletion.slice(2)], [7]],
    ['the operation before was not heard', deletion.slice(2), [7]],
    ['its acceptance was not heard', [...deletion.slice(0, 2), deletion[3]!], [7]],
    ['it goes on', deletion.slice(0, 3), [7]],
  ])('takes no operation for a deletion that is over when %s', (_, rings, creations) => {
    expect(hear(rings, creations).isDeleted).toBe(false)
  })
})

describe('isExplained', () => {
  const namespace = projectNamespace(namespaceObject())
  const pod: PodFacts = { ...projectPod(podObject()), ownerUid: namespace.uid, everReady: true }
  const done = { op: 7, state: 'done', deletes: false } as const

  it('accepts a complete lab of the operation that is done', () => {
    expect(isExplained(done, namespace, [pod])).toBe(true)
  })

  it.each<[string, Partial<NamespaceFacts>, readonly Partial<PodFacts>[]]>([
    ['a namespace of another operation', { op: 6 }, [{}]],
    ['a namespace without an operation', { op: undefined }, [{}]],
    ['a terminating namespace', { terminating: true }, [{}]],
    ['no pod', {}, []],
    ['two pods', {}, [{}, {}]],
    ['a pod of another operation', {}, [{ op: 6 }]],
    ['a pod of another namespace', {}, [{ ownerUid: 'other' }]],
    ['a pod that never started', {}, [{ everReady: false }]],
    ['a terminating pod', {}, [{ deleting: true }]],
  ])('rejects %s after an operation is done', (_, namespaceMore, pods) => {
    const shown = pods.map(more => ({ ...pod, ...more }))
    expect(isExplained(done, { ...namespace, ...namespaceMore }, shown)).toBe(false)
  })

  it('rejects every lab that has failed, since its objects may have to be removed', () => {
    expect(isExplained({ ...done, state: 'failed' }, namespace, [pod])).toBe(false)
  })

  it('accepts all that a running operation is responsible for, but nothing newer', () => {
    const runs = { ...done, state: 'runs' } as const
    expect(isExplained(runs, { ...namespace, op: 6 }, [])).toBe(true)
    expect(isExplained(runs, namespace, [])).toBe(true)
    expect(isExplained(runs, { ...namespace, op: 8 }, [])).toBe(false)
  })
})
