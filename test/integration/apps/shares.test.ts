/** Groups that share a namespace: each may take no more than its own quota. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AppFleet } from '../../kit/apps/fleet.ts'
import { eventually } from '../../kit/cluster/world.ts'

let fleet: AppFleet
beforeAll(async () => {
  const group = { a: { quota: { 'requests.cpu': 0.1, pods: 9 } } }
  fleet = await AppFleet.start({ groups: ['a', 'b'], isShared: true, group })
})
afterAll(() => fleet?.stop())

test('of apps that are made at once, a group gets those for which it has room, and another group is not affected', async () => {
  const names = ['one', 'two', 'three', 'four']
  await Promise.all([
    ...names.map(name => fleet.make(name, { groupName: fleet.of('a') })),
    fleet.make('other', { groupName: fleet.of('b') }),
  ])
  await fleet.phase('other', 'Ready')
  const phases = async () => {
    const found = await Promise.all(names.map(name => fleet.read(name)))
    return new Map(found.map(app => [app.metadata.name as string, app.status ?? {}]))
  }
  const isDecided = async () =>
    [...(await phases()).values()].every(({ phase }) => phase === 'Ready' || phase === 'Error')
  await eventually('all are decided', isDecided)
  const all = await phases()
  const ready = names.filter(name => all.get(name).phase === 'Ready')
  expect(ready).toHaveLength(1)
  const words = `exceeded quota of the group ${fleet.of('a')}, requested: requests.cpu=0.1, used: requests.cpu=0.1`
  for (const name of names.filter(name => !ready.includes(name))) {
    const { message, conditions } = all.get(name)
    expect(message).toContain(words)
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'QuotaExceeded', status: 'True' }))
    expect(await fleet.child('Deployment', `app-${name}`)).toBeNull()
  }
  await fleet.edit(ready[0]!, { spec: { stop: true } })
  await fleet.phase(ready[0]!, 'Stopped')
  const isNext = async () => [...(await phases()).values()].filter(({ phase }) => phase === 'Ready').length === 1
  await eventually('the next one runs', isNext, 60_000)
})
