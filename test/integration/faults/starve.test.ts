/** T28: one user sends the worst requests that pass, beside the labs and requests of twenty others. */
import { percentile } from '../../../bench/measure/statistics.ts'
import { Worker } from '../../../bench/measure/worker.ts'
import type { Asker, Steady, Worst, WorstQuestion } from '../../../bench/worst/client.ts'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { isWhole } from './points.ts'

const seconds = isWhole ? 20 : 6
const limitMs = 250
/** If twenty users alone wait longer than this, other work keeps the machine busy, and times prove nothing. */
const busyMs = 50
/** Processor time of each replica per second of the attack. Without the bounds it takes seconds. */
const maxCpuSeconds = 0.6

const asker = ({ username: name, token }: Client): Asker => ({ name, token })

async function starve(trial: Trial): Promise<void> {
  const fleet = await trial.fleet({ defaultRates: true, users: 30 })
  const worker = () =>
    new Worker({
      file: new URL('../../../bench/worst/client.ts', import.meta.url),
      stateDir: fleet.stateDir,
      nodeArgs: [],
    })
  const [steady, worst] = [worker(), worker()]
  trial.context.onTestFinished(async () => {
    await Promise.all([steady.stop(), worst.stop()])
  })
  const { urls, monitoringUrls } = fleet
  const users = Array.from({ length: 20 }, () => fleet.user())
  const makers = Array.from({ length: 5 }, () => fleet.user())
  const ask = <T>(worker: Worker, question: WorstQuestion) => worker.ask<T>(question)
  const measure = () => ask<Steady>(steady, { do: 'steady', urls, users: users.map(asker), seconds })

  const villain = fleet.user()
  // A repeated create with this key is cheap: it was accepted before.
  const key = 'known'
  await make(trial, [villain], key)
  const before = await measure()
  const cpuBefore = await Promise.all(monitoringUrls.map(url => metric(url, cpuForm)))
  const [beside, refusals] = await Promise.all([
    measure(),
    ask<Worst>(worst, { do: 'worst', urls, user: asker(villain), key, seconds }),
    oneByOne(trial, makers),
  ])
  countBlows(trial, refusals)
  const cpuAfter = await Promise.all(monitoringUrls.map(url => metric(url, cpuForm)))
  const cpu = Math.max(...cpuAfter.map((after, i) => after - cpuBefore[i]!)) / seconds
  const after = await measure()
  judgeTimes(trial, [before, beside, after])
  trial.figure('cpuMsPerSecond', Math.round(cpu * 1000))
  if (!(cpu <= maxCpuSeconds)) trial.violation(`a replica took ${cpu.toFixed(1)} s of processor time in a second`)
  const refused = Object.keys(beside.statuses).filter(status => status !== '200' && status !== '404')
  if (refused.length > 0) trial.violation(`the others were answered ${JSON.stringify(beside.statuses)}`)
  const lost = await lostLeases(fleet)
  trial.figure('leasesLost', lost)
  if (lost > 0) trial.violation(`${lost} leases were lost`)
}

/**
 * Judges times from the fourth second on. In the first seconds, full buckets let most requests pass, and no replica has
 * compiled its code yet; the bench `worst` judges those with warm replicas. A part of `npm test` runs beside other
 * tests, so it only shows times, and judges everything else.
 */
function judgeTimes(trial: Trial, halves: readonly Steady[]): void {
  const [before, p99, after] = halves.map(({ laterMs }) => Math.round(percentile(laterMs, 0.99))) as [
    number,
    number,
    number,
  ]
  const aloneMs = Math.max(before, after)
  trial.figure('p99Ms', p99)
  trial.figure('burstP99Ms', Math.round(percentile(halves[1]!.burstMs, 0.99)))
  trial.figure('aloneP99Ms', aloneMs)
  if (isWhole && aloneMs <= busyMs && p99 > limitMs)
    trial.violation(`p99 of the others was ${p99} ms, and ${aloneMs} ms alone`)
}

/** Creates labs meanwhile, one after the other, so that there is always a lease to lose. */
async function oneByOne(trial: Trial, makers: readonly Client[]): Promise<void> {
  for (const maker of makers) await make(trial, [maker])
}

async function make(trial: Trial, makers: readonly Client[], key?: string): Promise<void> {
  const outcomes = await Promise.all(
    makers.map(async user => {
      const { status } = await user.create({ image_type: 'recommended' }, { ...(key && { key }) })
      return status === 303 ? (await user.follow()).outcome : status
    }),
  )
  for (const outcome of outcomes) if (outcome !== 'complete') trial.violation(`a lab beside the worst user: ${outcome}`)
}

/** Each kind of request must have been refused: otherwise it did not test the bounds. */
function countBlows(trial: Trial, refusals: Worst): void {
  for (const [kind, statuses] of Object.entries(refusals)) {
    trial.injected()
    if ((statuses['429'] ?? 0) + (statuses['401'] ?? 0) + (statuses['422'] ?? 0) > 0) trial.landed()
    trial.figure(kind, statuses)
  }
}

async function lostLeases({ monitoringUrls }: Fleet): Promise<number> {
  const counts = await Promise.all(
    monitoringUrls.map(url => metric(url, /^skylab_leases_total\{outcome="lost"[^}]*\} (\d+)/m)),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

const cpuForm = /^process_cpu_seconds_total (\S+)/m

async function metric(url: string, form: RegExp): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(form.exec(text)?.[1] ?? Number.NaN)
}

attack('T28 one user beside twenty others', starve, { limitMs: 300_000 })
