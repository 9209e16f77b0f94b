/** The objects that are left when the acts of a plan are carried out. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../base/domain.ts'
import { isRevocation, nextWrites, refKey, refOf } from './plan.ts'
import { mergePatched } from './testing/merge-patch.ts'
import { object, owner, planned, rights, seen, wish } from './testing/plans.ts'
import type { Act, Wanted } from './types.ts'

describe('acts that are carried out', () => {
  const data = fc.dictionary(fc.constantFrom('x', 'y', 'z'), fc.constantFrom('1', '2'))
  const list = fc.uniqueArray(fc.constantFrom('ada', 'bob', 'eve'))
  const name = fc.constantFrom<string>('a', 'b', 'c')
  const wishes = fc.uniqueArray(
    fc.record({ name, data, list, stage: fc.nat(2), compare: fc.constantFrom('exact' as const, 'covers' as const) }),
    { selector: ({ name }) => name },
  )
  const owners = fc.constantFrom<object[]>([owner('p1')], [owner('p0')], [owner('p0'), owner('p1')], [])
  const objects = fc.uniqueArray(fc.record({ name, data, list, owners }), { selector: ({ name }) => name })
  const asWanted = ({
    name,
    data,
    list,
    stage,
    compare,
  }: {
    name: string
    data: object
    list: string[]
    stage: number
    compare: 'exact' | 'covers'
  }) => wish(object(name, { data, list }), { stage, compare })

  /** Carries out the plan by stages; returns the acts. */
  function settle(wanted: Wanted[], world: Map<string, KubeObject>): Act[] {
    const done: Act[] = []
    for (let round = 0; round < 20; round += 1) {
      const writes = nextWrites(
        planned(
          wanted,
          [...world.values()].map(each => seen(each)),
          rights,
        ),
      )
      if (writes.length === 0) return done
      for (const act of writes) {
        done.push(act)
        if (act.act === 'create') world.set(refKey(refOf(act.object)), act.object)
        else if (act.act === 'remove') world.delete(refKey(act.fact.ref))
        else if (act.act === 'change') {
          const key = refKey(act.fact.ref)
          world.set(key, mergePatched(world.get(key), act.patch) as KubeObject)
        }
      }
    }
    throw new Error('the acts do not end')
  }

  const worldOf = (have: { name: string; data: object; list: string[]; owners: object[] }[]) =>
    new Map(
      have.map(({ name, data, list, owners }) => object(name, { data, list }, owners)).map(o => [refKey(refOf(o)), o]),
    )

  test('end, touch nothing of another’s, and leave nothing that is not wanted', () => {
    fc.assert(
      fc.property(wishes, objects, (wanted, have) => {
        const world = worldOf(have)
        const foreign = [...world].filter(([, { metadata }]) => metadata.ownerReferences?.length === 0)
        settle(wanted.map(asWanted), world)
        for (const [key, object] of foreign) expect(world.get(key)).toBe(object)
        const ours = [...world.values()].filter(({ metadata }) => metadata.ownerReferences!.length > 0)
        const names = new Set(wanted.map(({ name }) => name))
        expect(ours.filter(({ metadata }) => !names.has(metadata.name))).toEqual([])
        if (foreign.some(([, { metadata }]) => names.has(metadata.name))) return
        expect(ours.map(({ metadata }) => metadata.name).sort()).toEqual([...names].sort())
      }),
    )
  })

  test('take something away before they give anything', () => {
    fc.assert(
      fc.property(wishes, objects, (wanted, have) => {
        const stages = settle(wanted.map(asWanted), worldOf(have)).map(({ stage }) => stage)
        expect(stages).toEqual([...stages].sort((a, b) => a - b))
      }),
    )
  })

  test('give nobody a right when they are revocations', () => {
    fc.assert(
      fc.property(wishes, objects, (wanted, have) => {
        const acts = planned(
          wanted.map(asWanted),
          [...worldOf(have).values()].map(each => seen(each)),
          rights,
        )
        for (const act of acts.filter(isRevocation)) {
          if (act.act !== 'change') continue
          expect(act.fact.owned.list).toEqual(expect.arrayContaining(act.patch.list as string[]))
          expect(Object.keys(act.patch)).toEqual(['list'])
        }
      }),
    )
  })
})
