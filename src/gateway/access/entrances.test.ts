import { expect, it } from 'vitest'
import { route } from '../../../test/kit/apps/routes.ts'
import { hashOf, newId } from '../../store/apps/ids.ts'
import type { SessionClaim } from '../../store/apps/sessions.ts'
import { keyOf } from './checks.ts'
import { Entrances } from './entrances.ts'
import type { Visitor } from './visitors.ts'

const visitor = { loginHash: 'a'.repeat(64), user: 'ada', groups: [] } as unknown as Visitor

function entrancesOf() {
  const made: string[] = []
  const asked: string[] = []
  let holds = true
  const check = async ({ sessionHash }: { sessionHash: string }) => {
    asked.push(sessionHash)
    return holds ? { is: 'in', version: '1', seen: {} } : { is: 'session', version: '1' }
  }
  const create = async () => made[made.push(newId()) - 1]
  const options = { sessions: { create }, checks: { check }, sessionMs: 1_000 }
  const entrances = new Entrances(options as unknown as ConstructorParameters<typeof Entrances>[0])
  const enter = async () => (await entrances.enter(route(), visitor))?.newSessionId
  const find = (...ids: string[]) => {
    asked.length = 0
    return entrances.find(route(), [visitor], ids)
  }
  return { enter, find, made, asked, end: () => (holds = false) }
}

it('Entrances gives the same session when another request has made one since the look', async () => {
  const { enter, made } = entrancesOf()
  const ids = [...(await Promise.all([enter(), enter()])), await enter()]
  expect(made).toHaveLength(1)
  expect(new Set(ids)).toEqual(new Set(made))
})

it('Entrances makes another session when the one that it has made holds no longer', async () => {
  const { enter, made, end } = entrancesOf()
  await enter()
  end()
  await enter()
  expect(made).toHaveLength(2)
})

it('Entrances tries the session that it has made after those that are presented, and once', async () => {
  const { enter, find, made, asked, end } = entrancesOf()
  await enter()
  const [own, other] = [made[0]!, newId()]
  expect(await find(own)).toMatchObject({ newSessionId: undefined })
  expect(asked).toEqual([hashOf(own)])
  expect(await find()).toMatchObject({ newSessionId: own })
  end()
  expect(await find(other)).toEqual({ visitor, version: '1' })
  expect(asked).toEqual([hashOf(other), hashOf(own)])
})

it('Entrances asks about the app and the visitor as they are by now', () => {
  const asked: (SessionClaim & { key: string })[] = []
  const check = (claim: (typeof asked)[0]) => {
    asked.push(claim)
    return { is: 'login', version: '1' }
  }
  const options = { sessions: {}, checks: { check }, sessionMs: 1_000 }
  const entrances = new Entrances(options as unknown as ConstructorParameters<typeof Entrances>[0])
  const id = newId()
  const other = { ...visitor, loginHash: 'b'.repeat(64), user: 'bob' } as unknown as Visitor
  const renewed = { ...route(), uid: 'another' }
  for (const [to, who] of [
    [route(), visitor],
    [renewed, visitor],
    [renewed, other],
  ] as const) {
    entrances.find(to, [who], [id])
  }
  expect(asked.map(({ appUid, user, loginHash }) => [appUid, user, loginHash])).toEqual([
    [route().uid, 'ada', visitor.loginHash],
    ['another', 'ada', visitor.loginHash],
    ['another', 'bob', other.loginHash],
  ])
  expect(asked.map(({ key }) => key)).toEqual(asked.map(keyOf))
})
