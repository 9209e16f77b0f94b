/** The judge of the tests finds no violation in a working fleet, and finds changes made behind the fleet's back. */
import { expect, test } from 'vitest'
import { labels } from '../../src/kube/labels.ts'
import { judge } from '../kit/attack/judge.ts'
import { type Fleet, startFleet } from '../kit/fleet/fleet.ts'

/** Two users: one has a lab, the other had one. */
async function work(fleet: Fleet) {
  const [keeper, leaver] = [fleet.user(), fleet.user()]
  await Promise.all([keeper, leaver].map(user => user.create()))
  await Promise.all([keeper, leaver].map(user => user.follow()))
  await fleet.admin.delete(leaver.username)
  await leaver.follow()
  return { keeper, leaver }
}

test.concurrent('the judge finds no violation in a working fleet, and has something to judge', async context => {
  const fleet = await startFleet(context, { readBack: 10 })
  await work(fleet)
  const { violations, figures } = await judge(fleet)
  expect(violations).toEqual([])
  // Three ends, three replicas, two questions.
  expect(figures).toMatchObject({ operations: 3, read_backs: 18 })
  expect(fleet.baseline.size).toBe(3)
  const { watches } = await fleet.audit.ofFleet(fleet.terms)
  const open = watches.map(({ replica, resource, count }) => `${replica} ${resource} ${count}`)
  const each = ['namespaces', 'pods'].flatMap(resource => [1, 2, 3].map(n => `replica-${n} ${resource} 1`))
  expect(open.sort()).toEqual(each.sort())
})

test.concurrent('the judge finds each change behind the fleet’s back, by its number', async context => {
  const fleet = await startFleet(context, { readBack: 10 })
  const { keeper, leaver } = await work(fleet)
  const { kube, redis, keys } = fleet.world
  const namespace = await fleet.world.namespaceOf(keeper.username)
  const op = Number(namespace.metadata.labels[labels.op])
  const owner = { apiVersion: 'v1', kind: 'Namespace', name: namespace.metadata.name, uid: namespace.metadata.uid }
  const ours = { [labels.installation]: fleet.installation }
  await kube.create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: 'stale',
      namespace: namespace.metadata.name,
      labels: { ...ours, [labels.op]: String(op - 1) },
      ownerReferences: [owner],
    },
  })
  await kube.delete('Service', `nb-${keeper.username}`, namespace.metadata.name)
  await redis.set(keys.nonce('left'), '1')
  await redis.xadd(keys.events(keeper.username), `${op}-99`, 'event', 'failed', 'data', 'a second end')
  await redis.zadd(keys.index, 2, leaver.username)
  // Sent without the client, so that no history has it.
  const answer = await fetch(`${fleet.url(0)}/nublado/spawner/v1/labs/${leaver.username}/create`, {
    method: 'POST',
    headers: { authorization: `Bearer ${leaver.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ options: { image_type: 'recommended', size: 'small' }, env: {} }),
    redirect: 'manual',
  })
  expect(answer.status).toBe(303)
  await leaver.follow()
  const { violations } = await judge(fleet, { restMs: 1000 })
  const found = (words: RegExp) => violations.some(violation => words.test(violation))
  const expected = [
    /^I1 Secret stale of op/,
    /^I3 .* has 2 ends/,
    /^I4 stream of .* where \d+ was due/,
    /^I5 .*nonce:left has no expiry/,
    /^I8 create .*: 2 operations .* asked for 1/,
  ]
  expect([violations, expected.filter(words => !found(words))]).toEqual([violations, []])
})
