/** Replies of Redis that are lost after it has done what it was asked: sent again, there is one effect. */
import { expect } from 'vitest'
import { attack, type Fight } from '../harness/attack.ts'
import type { Fleet } from '../harness/fleet.ts'
import { eventually } from '../harness/world.ts'
import { loseReplyTo } from './commands.ts'
import * as wave from './wave.ts'

const ofCreation = ['accept-create', 'claim-operation', 'commit-step', 'extend-leases', 'finish-operation'] as const
const ofDeletion = ['accept-delete', 'claim-operation', 'commit-step', 'finish-operation'] as const

/** One reply lost is made up for; two in a row, such as by a connection that is not back yet, are a 503. */
async function whole(fleet: Fleet): Promise<void> {
  for (const url of fleet.urls) {
    await eventually('connected', async () => (await fleet.admin.at(url).labs()).status === 200)
  }
}

/** One acceptance, one claim, one event, one end. */
async function loseReplies(fight: Fight): Promise<void> {
  const fleet = await fight.fleet({ proxies: 'open' })
  const { admin } = fleet
  const users = []
  for (const command of ofCreation) {
    const user = fleet.user()
    users.push(user)
    const arm = fleet.arm('lab.create.make.pod.before-act', 'hold', { user: user.username })
    await whole(fleet)
    fight.injected()
    const landed = loseReplyTo(fleet, command)
    const answer = await user.create()
    expect([command, answer.status]).toEqual([command, 303])
    // Leases are extended while something is owned.
    if (command === 'extend-leases') await landed
    arm.release()
    const { outcome, op, events } = await user.follow()
    expect([command, outcome]).toEqual([command, 'complete'])
    await landed
    fight.landed()
    const writes = await fleet.audit.writesOf(fleet.namespace(user.username))
    expect([command, writes.length]).toEqual([command, 8])
    expect([command, new Set(writes.map(write => write.op))]).toEqual([command, new Set([op])])
    const told = events.map(({ event, data }) => `${event} ${data}`)
    expect([command, told]).toEqual([command, [...new Set(told)]])
    expect((await user.create()).status).toBe(409)
  }
  for (const [i, command] of ofDeletion.entries()) {
    const user = users[i]!
    await whole(fleet)
    fight.injected()
    const landed = loseReplyTo(fleet, command)
    expect((await admin.delete(user.username)).status).toBe(202)
    const { outcome, op } = await user.follow()
    expect([command, outcome]).toEqual([command, 'complete'])
    await landed
    fight.landed()
    const writes = (await fleet.audit.writesOf(fleet.namespace(user.username))).filter(write => write.op === op)
    expect([command, writes.map(({ resource }) => resource)]).toEqual([command, ['pods', 'namespaces']])
  }
  await wave.expectNothingLeft(fleet, users)
}

attack('T11 reply lost after apply', loseReplies, { concurrent: true })
