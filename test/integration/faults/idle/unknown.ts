/**
 * idle K2: unknown is not idle. Servers that hang, reset, refuse, talk rubbish or redirect are asked again and again, long after
 * the time-out, and none of their labs is stopped; each is at its first answer that shows no activity.
 */
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import type { Behaviour } from '../../../kit/idle/fake-jupyter.ts'
import { isWhole } from '../points.ts'
import {
  checksOf,
  type IdleLab,
  idleFleet,
  isRunning,
  makeDue,
  pause,
  rule,
  silent,
  startFake,
  startLab,
  untilMustered,
} from './labs.ts'
import { Stops } from './stops.ts'

const timeoutMs = 1000
/** Questions to each that came after the time-out. */
const questions = isWhole ? 6 : 3
const endLimitMs = 30_000

interface Failing {
  readonly words: string
  readonly behaviour: Behaviour
}

const shown = (path: string, body: string): Behaviour => ({ others: { [path]: body } })

/** By the prefix of the lab. */
const failures = (prefix: string, elsewhere: string): readonly Failing[] => {
  const kernels = `${prefix}api/kernels`
  const longAgo = new Date(Date.now() - 3_600_000).toISOString()
  const kernel = { id: 'k', name: 'python3', execution_state: 'idle', connections: 0, last_activity: longAgo }
  const few: Failing[] = [
    { words: 'hangs', behaviour: 'hang' },
    { words: 'resets', behaviour: 'reset' },
    { words: 'answers 503', behaviour: { status: 503 } },
    { words: 'answers 401', behaviour: { status: 401 } },
    { words: 'talks rubbish', behaviour: 'garbage' },
    { words: 'answers a gigabyte', behaviour: 'huge' },
    { words: 'redirects', behaviour: { redirectTo: elsewhere } },
  ]
  const more: Failing[] = [
    ...[403, 404, 500, 502, 204].map(status => ({ words: `answers ${status}`, behaviour: { status } })),
    { words: 'shows kernels that are no list', behaviour: shown(kernels, '{}') },
    { words: 'shows a list that is cut', behaviour: shown(kernels, '[{"id":"k"') },
    { words: 'shows a kernel without a state', behaviour: shown(kernels, JSON.stringify([{ id: 'k' }])) },
    {
      words: 'shows a kernel whose time is none',
      behaviour: shown(kernels, JSON.stringify([{ ...kernel, last_activity: 'yesterday' }])),
    },
    { words: 'shows 1,001 kernels', behaviour: shown(kernels, JSON.stringify(Array(1001).fill(kernel))) },
  ]
  return isWhole ? [...few, ...more] : few
}

/** Asked so often after the time-out, and neither stopped nor about to be. */
async function withstand(trial: Trial, lab: IdleLab, stops: Stops, { words, behaviour }: Failing): Promise<void> {
  const { fleet, fake, name } = lab
  trial.injected()
  fake.behave(behaviour)
  const fromMs = Date.now() + timeoutMs
  await pause(timeoutMs)
  for (let asked = 0; asked < questions; asked++) {
    const before = checksOf(lab).length
    await makeDue(fleet, name)
    const isOver = async () => checksOf(lab).length > before || (await stops.of(name)).length > 0
    await eventually(`a question to ${name}, which ${words}`, isOver, endLimitMs)
    // A look at one that hangs takes its whole time.
    await pause(behaviour === 'hang' ? 2_200 : 300)
  }
  const late = checksOf(lab).filter(atMs => atMs >= fromMs)
  const tried = await stops.of(name)
  if (tried.length > 0) trial.violation(`a lab that ${words}: its stop was ${tried[0]!.result}`)
  else if (!(await isRunning(lab))) trial.violation(`a lab that ${words} runs no more`)
  else if (late.length >= questions) trial.landed()
}

/** What it was saved by was its failure alone. */
async function endNow(trial: Trial, lab: IdleLab, stops: Stops, { words }: Failing): Promise<void> {
  if ((await stops.of(lab.name)).length > 0) return
  lab.fake.behave(silent)
  const askedMs = performance.now()
  await makeDue(lab.fleet, lab.name)
  const isStopped = async () => (await stops.requested()).some(({ id }) => id === lab.name)
  await eventually(`the stop of ${lab.name}, which ${words} no more`, isStopped, endLimitMs)
  trial.took(performance.now() - askedMs)
  const { outcome } = await lab.user.follow()
  if (outcome !== 'complete') trial.violation(`the stop of ${lab.name}: ${outcome}`)
}

async function unknown(trial: Trial): Promise<void> {
  const fleet = await trial.fleet(idleFleet([rule()], { checkPeriodSeconds: 0.5 }))
  const stops = new Stops(fleet)
  const elsewhere = await startFake(trial)
  const place = `http://${elsewhere.address}:${elsewhere.port}/api/kernels`
  const count = failures('/', place).length
  const labs = await Promise.all(Array.from({ length: count }, () => startLab(trial, fleet)))
  await untilMustered(fleet, labs)
  const cast = labs.map((lab, index) => [lab, failures(lab.prefix, place)[index]!] as const)
  await Promise.all(cast.map(([lab, failing]) => withstand(trial, lab, stops, failing)))
  if (elsewhere.asked.length > 0) trial.violation(`a redirect was followed ${elsewhere.asked.length} times`)
  await Promise.all(cast.map(([lab, failing]) => endNow(trial, lab, stops, failing)))
  trial.figure(
    'questions',
    labs.reduce((sum, lab) => sum + checksOf(lab).length, 0),
  )
}

attack('idle K2 servers that do not answer', unknown, { concurrent: !isWhole })
