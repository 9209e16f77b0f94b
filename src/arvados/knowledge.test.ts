import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import type { Mirrored } from '../dispatch/mirrored.ts'
import type { Listed, Page } from './answers.ts'
import { ArvadosError, type ListQuery } from './client.ts'
import { Knowledge } from './knowledge.ts'

const uuidOf = (n: number) => `zzzzz-dz642-${String(n).padStart(15, '0')}`
const listed = (n: number, more: Partial<Listed> = {}): Listed => ({
  ...{ uuid: uuidOf(n), state: 'Locked', priority: 5, rank: 5, mine: true },
  ...more,
})
const mirrored = (n: number): Mirrored => ({ theirs: uuidOf(n), uuid: `o${n}`, back: false, ours: null })
const none: Page = { items: [], bad: 0 }
const page = (...items: Listed[]): Page => ({ items, bad: 0 })
const bad = (count: number): Page => ({ items: [], bad: count })

type Kind = 'mine' | 'waiting' | 'byUuid'
const kindOf = ({ order, filters }: ListQuery): Kind =>
  order === 'priority desc' ? 'waiting' : filters[0]![1] === 'in' ? 'byUuid' : 'mine'

/** Answers by kind, in turn; the last one for ever. */
function knowing(answers: Partial<Record<Kind, (Page | Error)[]>>) {
  const asked: ListQuery[] = []
  const bads: number[] = []
  const clock = new ManualClock()
  const list = async (query: ListQuery) => {
    asked.push(query)
    const left = answers[kindOf(query)] ?? [none]
    const answer = left.length > 1 ? left.shift()! : left[0]!
    if (answer instanceof Error) throw answer
    return answer
  }
  const client = { list, current: async () => 'token' }
  const knowledge = new Knowledge({ client, clock, mostListed: 1_000, onBad: count => void bads.push(count) })
  const refresh = (...of: Mirrored[]) => knowledge.refresh(of, 10_000, new AbortController().signal)
  return { knowledge, asked, bads, clock, refresh, kinds: () => asked.map(kindOf) }
}

describe('Knowledge', () => {
  it('asks for what is locked by us, for what waits, and for the others that we have', async () => {
    const waits = listed(3, { state: 'Queued', mine: false })
    const { knowledge, refresh, kinds, asked } = knowing({
      mine: [page(listed(1), listed(2, { mine: false })), none],
      waiting: [page(waits, listed(4, { state: 'Running' })), none],
      byUuid: [page(listed(5, { state: 'Complete', mine: false }))],
    })
    await refresh(mirrored(1), mirrored(5))
    expect(kinds()).toEqual(['mine', 'mine', 'waiting', 'waiting', 'byUuid'])
    expect(asked[1]!.filters).toEqual([
      ['locked_by_uuid', '=', 'token'],
      ['uuid', '>', uuidOf(2)],
    ])
    expect(asked[3]!.offset).toBe(2)
    expect(knowledge.all.map(({ uuid }) => uuid)).toEqual([3, 1, 5].map(uuidOf))
    expect(knowledge.of(uuidOf(9))).toBeUndefined()
  })

  it('asks for nothing before its time, but for what is in doubt', async () => {
    const { knowledge, refresh, kinds, clock } = knowing({ mine: [page(listed(1)), none], byUuid: [page(listed(1))] })
    await refresh(mirrored(1))
    expect(knowledge.dueInMs(10_000)).toBe(10_000)
    await refresh(mirrored(1))
    knowledge.doubt(uuidOf(1))
    expect([knowledge.of(uuidOf(1)), knowledge.dueInMs(10_000)]).toEqual([undefined, 0])
    await refresh(mirrored(1))
    expect(kinds()).toEqual(['mine', 'mine', 'waiting', 'byUuid'])
    expect(knowledge.of(uuidOf(1))).toMatchObject({ state: 'Locked' })
    clock.advance(10_000)
    await refresh(mirrored(1))
    expect(kinds().slice(4, 5)).toEqual(['mine'])
  })

  it('takes a container for deleted only when a page about it is empty', async () => {
    const { knowledge, refresh } = knowing({ byUuid: [page(listed(1)), none] })
    await refresh(mirrored(1), mirrored(2))
    expect(knowledge.of(uuidOf(1))).toMatchObject({ state: 'Locked' })
    expect(knowledge.of(uuidOf(2))).toBeNull()
  })

  it('keeps a container in doubt when its record is not as it must be', async () => {
    const { knowledge, refresh, bads } = knowing({ byUuid: [bad(1)] })
    await refresh(mirrored(1))
    expect(knowledge.of(uuidOf(1))).toBeUndefined()
    expect(bads).toEqual([1])
  })

  it('asks for the others, and once in each poll for those whose records are not as they must be', async () => {
    const all = Array.from({ length: 21 }, (_, i) => mirrored(i))
    const { knowledge, refresh, kinds, clock } = knowing({ byUuid: [bad(20), page(listed(20)), bad(20), none] })
    await refresh(...all)
    expect(knowledge.of(uuidOf(20))).toMatchObject({ state: 'Locked' })
    expect(knowledge.dueInMs(10_000)).toBe(10_000)
    await refresh(...all)
    const asked = () => kinds().filter(kind => kind === 'byUuid').length
    expect([asked(), knowledge.of(uuidOf(0))]).toEqual([2, undefined])
    clock.advance(10_000)
    await refresh(...all)
    expect([asked(), knowledge.of(uuidOf(20))]).toEqual([4, null])
  })

  it.each<[string, Parameters<typeof knowing>[0]]>([
    ['has one that was not asked for', { byUuid: [page(listed(2))] }],
    ['repeats one', { byUuid: [page(listed(1), listed(1))] }],
    ['is the same again', { mine: [page(listed(1))] }],
    ['never comes', { byUuid: [new ArvadosError('unclear', 'no answer')] }],
  ])('keeps containers in doubt when a page %s', async (_, answers) => {
    const { knowledge, refresh } = knowing(answers)
    await expect(refresh(mirrored(1), mirrored(7))).rejects.toThrow(ArvadosError)
    expect(knowledge.of(uuidOf(7))).toBeUndefined()
    expect(knowledge.dueInMs(10_000)).toBe(0)
  })

  it('asks for few pages when all of them are short', async () => {
    const { refresh, kinds } = knowing({ waiting: [bad(1)] })
    await refresh()
    expect(kinds().filter(kind => kind === 'waiting')).toHaveLength(4)
  })

  it('asks for 20 at once, as Arvados does', async () => {
    const { refresh, asked } = knowing({ byUuid: [none] })
    await refresh(...Array.from({ length: 45 }, (_, i) => mirrored(i)))
    const sizes = asked
      .filter(query => kindOf(query) === 'byUuid')
      .map(({ filters }) => String(filters[0]![2]).split(',').length)
    expect(sizes).toEqual([20, 20, 5])
  })
})
