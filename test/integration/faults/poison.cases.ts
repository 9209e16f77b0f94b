/** An operation that takes its owner down with every act of its own, beside others that only wait. */
import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { labels } from '../../../src/labs/names.ts'
import { attack, type Fight } from '../harness/attack.ts'
import { eventually } from '../harness/world.ts'
import * as wave from './wave.ts'

const maxAttempts = 3

/** It is given up after three attempts, and the others complete. */
async function poison(fight: Fight): Promise<void> {
  // Pods find their node only once it bears this label.
  const label = `skylab.test/${randomBytes(4).toString('hex')}`
  const fleet = await fight.fleet({
    restart: true,
    config: {
      engine: { leaseTtlMs: wave.ttlMs, scanIntervalMs: wave.scanIntervalMs, maxAttempts },
      lab: { nodeSelector: { type: 'kwok', [label]: 'yes' } },
    },
  })
  const { kube } = fleet.world
  const [node] = await kube.list('/api/v1/nodes', 'type=kwok')
  const setLabel = (value: string | null) =>
    kube.request('PATCH', `/api/v1/nodes/${node!.metadata.name}`, { metadata: { labels: { [label]: value } } })
  fight.context.onTestFinished(() => void setLabel(null))

  const others = Array.from({ length: 20 }, () => fleet.user())
  await Promise.all(others.map(user => user.create()))
  const isWaiting = async () =>
    (await fleet.world.kube.list('/api/v1/pods', `${labels.installation}=${fleet.installation}`)).length ===
    others.length
  await eventually('20 pods that wait', isWaiting)

  const poisoner = fleet.user()
  const arm = fleet.arm('lab.create.make.service.after-act', 'kill', { user: poisoner.username, times: null })
  fight.injected(maxAttempts)
  const begunMs = performance.now()
  await poisoner.create()
  const poisoned = await poisoner.follow()
  fight.figure('poisoned_ms', Math.round(performance.now() - begunMs))
  fight.landed(arm.marks().length)
  expect(poisoned.outcome).toBe('failed')
  expect(poisoned.errors.at(-1)).toMatch(/given up after 3 attempts/)
  expect((await poisoner.userStatus()).body).toMatchObject({ status: 'failed', pod: 'missing' })
  expect(await fleet.world.namespaceOf(poisoner.username)).toBeNull()

  await setLabel('yes')
  const ended = await Promise.all(others.map(user => user.follow()))
  expect(ended.map(({ outcome }) => outcome)).toEqual(others.map(() => 'complete'))
  for (const user of others) {
    const pods = (await fleet.audit.writesOf(fleet.namespace(user.username))).filter(
      ({ resource }) => resource === 'pods',
    )
    expect(pods).toHaveLength(1)
  }
  fight.figure('attempts', arm.marks().length)
  fight.figure('others', ended.length)
  arm.disarm()
  expect((await poisoner.create()).status).toBe(303)
  expect((await poisoner.follow()).outcome).toBe('complete')
  await fleet.ready()
  await wave.expectNothingLeft(fleet, [...others, poisoner])
}

attack('T22 poison beside 20 that wait for their pods', poison, { concurrent: true })
