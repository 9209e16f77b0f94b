/** The toy kind as the engine knows it: its steps and its words. */
import { unlessAborted } from '../../../src/base/deadline.ts'
import { NeedsSomeone, RetryLater } from '../../../src/base/errors.ts'
import type { Claimed, Kind, Limits, StepList, Work } from '../../../src/ops/kind.ts'
import { StartOver, type Step, type StepResult } from '../../../src/ops/steps.ts'
import {
  type Home,
  type ToyAnswer,
  type ToyContext,
  type ToyFields,
  type ToyKnown,
  type ToyShape,
  toy,
  toyForm,
  toyLimits,
} from './context.ts'

type Result = StepResult<ToyFields>
type ToyStep = Step<ToyShape>

/** Requests to the world of the operations of one process. */
export interface ToyClient {
  ask(method: string, path: string, options: AskOptions): Promise<ToyAnswer>
}

export interface AskOptions {
  readonly body?: object | undefined
  readonly agent: string
  readonly epoch: number
  readonly signal: AbortSignal
}

export const toyKind = (client: ToyClient, limits = toyLimits): Kind<ToyShape> => ({
  name: toy,
  form: toyForm,
  drawsEpochs: true,
  limits,
  words: {
    complete: name => `The toy ${name} is as wished`,
    failed: (operation, name) => `The ${operation === 'create' ? 'making' : 'removal'} of the toy ${name} failed`,
    refused: reason => `The world refused what the toy needs: ${reason}`,
  },
  ends: { create: 'running', delete: 'gone' },
  begin: claimed => new ToyWork(client, claimed, limits),
})

class ToyWork implements Work<ToyShape> {
  readonly known: ToyKnown
  readonly #client: ToyClient
  readonly #claimed: Claimed<ToyShape>
  readonly #longestRequestMs: number
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(client: ToyClient, claimed: Claimed<ToyShape>, { longestRequestMs }: Limits) {
    const { homeUid, thingUid } = claimed.claim.record
    this.#client = client
    this.#claimed = claimed
    this.#longestRequestMs = longestRequestMs
    this.known = { homeUid, thingUid }
  }

  steps(list: StepList): readonly ToyStep[] {
    if (list === 'create') return createSteps
    return list === 'delete' ? removalSteps('', 5, 90) : removalSteps('clean.', 95, 99)
  }

  context(common: Omit<ToyContext, 'ask'>): ToyContext {
    return {
      ...common,
      ask: async (method, path, body) => {
        const { signal, agent, check } = common.call()
        const isWrite = method !== 'GET'
        if (isWrite) await common.failpoint('before-send')
        // After the failpoint nothing stops a write but the world itself.
        if (!isWrite) check()
        // A write that was sent arrives, even if its sender is stopped.
        const sent = isWrite ? AbortSignal.timeout(this.#longestRequestMs) : signal
        const asked = this.#client.ask(method, path, { body, agent, epoch: common.epoch!, signal: sent })
        const answer = await this.#during(asked, signal)
        if (isWrite) await common.failpoint('after-send')
        if (answer.code !== 412) return answer
        // If there is a later owner, this lease is over, or will be in a moment. If there is none, epochs are behind.
        check()
        throw new RetryLater('the world has heard a higher epoch')
      },
    }
  }

  /** A thing that is ready was finished by an owner that died before it could say so. */
  async isComplete(): Promise<boolean> {
    const { name, op, agent, claim, phases } = this.#claimed
    const answer = await phases.within(this.#longestRequestMs, undefined, signal =>
      this.#client.ask('GET', `homes/${name}`, { agent, epoch: claim.epoch!, signal }),
    )
    const { home } = answer
    if (home?.op !== op || home.thing?.state !== 'ready') return false
    Object.assign(this.known, { homeUid: home.uid, thingUid: home.thing.uid })
    return true
  }

  completed(): ToyFields {
    return { homeUid: this.known.homeUid!, thingUid: this.known.thingUid! }
  }

  cleaned(): ToyFields {
    return {}
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay)
  }

  #during<T>(asked: Promise<T>, signal: AbortSignal): Promise<T> {
    const over = asked.finally(() => this.#underWay.delete(over))
    this.#underWay.add(over)
    return unlessAborted(over, signal)
  }
}

const pathOf = ({ name }: ToyContext) => `homes/${name}`
const homeOf = async (context: ToyContext): Promise<Home | undefined> =>
  (await context.ask('GET', pathOf(context))).home

/** Removes the home of an older toy of this name. */
async function clear(context: ToyContext): Promise<Result> {
  const home = await homeOf(context)
  if (!home || home.op === context.op) return 'nothing'
  if (home.op > context.op) throw new RetryLater('the world has a newer operation than the record', 200)
  await context.ask('DELETE', `${pathOf(context)}?uid=${home.uid}`)
  throw new RetryLater('an older toy is being removed', 50)
}

async function makeHome(context: ToyContext): Promise<Result> {
  const { name, op, plan } = context
  await context.failpoint('before-act')
  const made = await context.ask('POST', pathOf(context), { op, name, ...plan })
  await context.failpoint('after-act')
  const home = made.code === 409 ? await homeOf(context) : made.home
  if (!home || home.op !== op || home.terminating) throw new StartOver('another home stands')
  context.known.homeUid = home.uid
  return { events: [['info', `Built a home for ${name}`]], fields: { homeUid: home.uid } }
}

async function makeThing(context: ToyContext): Promise<Result> {
  const { op, known } = context
  await context.failpoint('before-act')
  const { code } = await context.ask('POST', `${pathOf(context)}/thing`, { op, homeUid: known.homeUid })
  await context.failpoint('after-act')
  if (code === 410) throw new NeedsSomeone('The home of the toy was removed')
  const thing = (await homeOf(context))?.thing
  if (thing?.op !== op) throw new RetryLater('the thing came and went', 50)
  known.thingUid = thing.uid
  return { events: [['info', 'Made the toy']], fields: { thingUid: thing.uid } }
}

async function awaitReady(context: ToyContext): Promise<Result> {
  while (true) {
    const thing = (await homeOf(context))?.thing
    if (!thing) throw new NeedsSomeone('The toy is gone')
    if (thing.state === 'ready') return { events: [['info', 'The toy is ready']] }
    if (thing.state === 'broken') throw new NeedsSomeone('The toy is broken')
    await context.clock.sleep(50, context.signal)
  }
}

async function removeHome(context: ToyContext): Promise<Result> {
  const home = await homeOf(context)
  if (!home || home.op > context.op) return 'nothing'
  await context.failpoint('before-act')
  await context.ask('DELETE', `${pathOf(context)}?uid=${home.uid}`)
  await context.failpoint('after-act')
  context.known.homeUid = home.uid
  return { events: [['info', 'Removing the home of the toy']], fields: { homeUid: home.uid } }
}

async function awaitGone(context: ToyContext): Promise<Result> {
  while ((await homeOf(context))?.uid === context.known.homeUid && context.known.homeUid) {
    await context.clock.sleep(50, context.signal)
  }
  return { events: [['info', 'The home of the toy is gone']], fields: { homeUid: '', thingUid: '' } }
}

/** The steps of a creation. */
export const createSteps: readonly ToyStep[] = [
  { name: 'clear', kind: 'act', progress: 5, run: clear },
  { name: 'home', kind: 'act', progress: 30, run: makeHome },
  { name: 'thing', kind: 'act', progress: 60, run: makeThing },
  { name: 'ready', kind: 'wait', progress: 100, run: awaitReady },
]

/** The steps of a deletion and, with a prefix, of the removal of what a failed creation made. */
export const removalSteps = (prefix: string, from: number, to: number): readonly ToyStep[] => [
  { name: `${prefix}home`, kind: 'act', progress: from, run: removeHome },
  { name: `${prefix}home-gone`, kind: 'wait', progress: to, isIdle: ({ homeUid }) => !homeUid, run: awaitGone },
]
