/** T28: one user sends the worst that is let in, beside the labs and requests of twenty others. */
import { percentile } from '../../../bench/statistics.ts'
import { Worker } from '../../../bench/worker.ts'
import type { Asker, Steady, Worst, WorstQuestion } from '../../../bench/worst-client.ts'
import { attack, type Fight } from '../harness/attack.ts'
import type { Client } from '../harness/client.ts'
import type { Fleet } from '../harness/fleet.ts'
import { isWhole } from './points.ts'

const seconds = isWhole ? 20 : 5
const limitMs = 250
/** A busy machine is slow by itself: then what counts is how much slower the others are beside the one. */
const timesAlone = 3

const asker = ({ username: name, token }: Client): Asker => ({ name, token })

async function starve(fight: Fight): Promise<void> {
  const fleet = await fight.fleet({ defaultRates: true, users: 30 })
  const worker = () => new Worker({ file: 'worst-client.ts', stateDir: fleet.stateDir, nodeArgs: [] })
  const [steady, worst] = [worker(), worker()]
  fight.context.onTestFinished(async () => {
    await Promise.all([steady.stop(), worst.stop()])
  })
  const { urls } = fleet
  const users = Array.from({ length: 20 }, () => fleet.user())
  const makers = Array.from({ length: 5 }, () => fleet.user())
  const ask = <T>(who: Worker, question: WorstQuestion) => who.ask<T>(question)
  const asked = () => ask<Steady>(steady, { do: 'steady', urls, users: users.map(asker), seconds })

  const alone = await asked()
  const [beside, told] = await Promise.all([
    asked(),
    ask<Worst>(worst, { do: 'worst', urls, user: asker(fleet.user()), seconds }),
    make(fight, makers),
  ])
  countBlows(fight, told)
  const [p99, aloneMs] = [percentile(beside.ms, 0.99), percentile(alone.ms, 0.99)]
  for (const [name, value] of Object.entries({ p99Ms: p99, aloneP99Ms: aloneMs })) fight.figure(name, Math.round(value))
  if (p99 > Math.max(limitMs, timesAlone * aloneMs)) {
    fight.violation(`p99 of the others was ${Math.round(p99)} ms, and ${Math.round(aloneMs)} ms alone`)
  }
  const refused = Object.keys(beside.statuses).filter(status => status !== '200' && status !== '404')
  if (refused.length > 0) fight.violation(`the others were answered ${JSON.stringify(beside.statuses)}`)
  const lost = await lostLeases(fleet)
  fight.figure('leasesLost', lost)
  if (lost > 0) fight.violation(`${lost} leases were lost`)
}

/** Labs are made meanwhile, so that there are leases to lose. */
async function make(fight: Fight, makers: readonly Client[]): Promise<void> {
  const outcomes = await Promise.all(
    makers.map(async user => {
      const { status } = await user.create()
      return status === 303 ? (await user.follow()).outcome : status
    }),
  )
  for (const outcome of outcomes) if (outcome !== 'complete') fight.violation(`a lab beside the worst user: ${outcome}`)
}

/** Each kind of request must have been refused: else nothing was tried that the bounds are for. */
function countBlows(fight: Fight, told: Worst): void {
  for (const [kind, statuses] of Object.entries(told)) {
    fight.injected()
    if ((statuses['429'] ?? 0) + (statuses['401'] ?? 0) + (statuses['422'] ?? 0) > 0) fight.landed()
    fight.figure(kind, statuses)
  }
}

async function lostLeases(fleet: Fleet): Promise<number> {
  const texts = await Promise.all(fleet.urls.map(async url => (await fetch(`${url}/metrics`)).text()))
  const counts = texts.map(text =>
    Number(/^skylab_leases_total\{outcome="lost"\} (\d+)/m.exec(text)?.[1] ?? Number.NaN),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

attack('T28 one user beside twenty others', starve, { limitMs: 180_000 })
