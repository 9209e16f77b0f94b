/** Steps of the demo of apps: each is one thing that somebody does, and the wait until it has its effect. */
import { readFile } from 'node:fs/promises'
import { systemClock } from '../../src/base/clock.ts'
import { roundSeconds } from '../demo/say.ts'
import { waitUntil } from '../process/api-client.ts'
import type { Replica } from '../stack/replicas.ts'
import { ask } from './ask.ts'
import type { AppsContext } from './context.ts'
import { logRuns } from './notebook.ts'
import { moveSlider, seesOrbit, timesAsFar } from './orbits.ts'
import { group, groupNamespace, type Name } from './people.ts'
import type { ShownApp, Verdict } from './report.ts'
import { Visitor } from './visitor.ts'

/** The files of the apps that are applied, in the order of the story. */
export const appFiles = ['mlflow-xyzab', 'mlflow', 'orbits'] as const
const mlflowImage = 'larribas/mlflow:1.9.1'
const limitMs = 120_000
/** The kernel ends the connections of a killed process at once. */
const cutMs = 3_000

export const pathOf = (file: string): URL => new URL(`objects/${file}.yaml`, import.meta.url)

/** Throws where something else was seen than what was declared. */
export function mustBe(what: string, seen: unknown, declared: unknown): void {
  if (seen !== declared) throw new Error(`${what}: ${seen}, where ${declared} was declared`)
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const begunMs = systemClock.monotonicMs()
  await work()
  return roundSeconds(systemClock.monotonicMs() - begunMs)
}

const inGroup = ['-n', groupNamespace]

/** Applies the apps that have files. */
export async function applyApps({ kubectl }: AppsContext): Promise<void> {
  for (const file of appFiles) await kubectl(['apply', '-f', '-'], { input: await readFile(pathOf(file), 'utf8') })
}

export async function untilPhase({ kubectl }: Pick<AppsContext, 'kubectl'>, phase: string, ...ids: readonly string[]) {
  const apps = ids.map(id => `phapplication/${id}`)
  const seconds = `--timeout=${limitMs / 1000}s`
  await kubectl(['wait', `--for=jsonpath={.status.phase}=${phase}`, ...apps, ...inGroup, seconds])
}

export async function shownApps({ kubectl }: AppsContext): Promise<readonly ShownApp[]> {
  const { items } = JSON.parse(await kubectl(['get', 'phapplications', ...inGroup, '-o', 'json']))
  // biome-ignore lint/suspicious/noExplicitAny: a list of the API server
  return items.map(({ metadata, spec, status }: any) => {
    return { id: metadata.name, phase: status.phase, scope: spec.scope, url: status.url ?? '' }
  })
}

/** The table that a person sees. */
export const appTable = ({ kubectl }: AppsContext): Promise<string> => kubectl(['get', 'phapplications', ...inGroup])

/** A pod of the group uses both servers by the names of their Services. */
export async function useByTcp({ kubectl }: AppsContext): Promise<Verdict> {
  const servers = ['http://app-mlflow-xyzab:5000', 'http://app-mlflow:5000/console/apps/mlflow']
  let lines: readonly string[] = []
  const seconds = await timed(async () => {
    lines = await logRuns(kubectl, mlflowImage, servers)
  })
  return { step: 'a pod of the group logs a run at app-mlflow-xyzab:5000', saw: lines[0]!, seconds }
}

/** Somebody without a login is led to the provider. */
export async function isAtProvider({ provider }: AppsContext, visitor: Visitor): Promise<void> {
  mustBe('the page without a login', await visitor.open('orbits'), 200)
  mustBe('its address', new URL(visitor.page.url()).origin, provider.url)
}

/** Opens an app without a login, logs in at the provider, and is back at the app. */
export async function logIn(context: AppsContext, visitor: Visitor, name: Name): Promise<Verdict> {
  const { people, camera, provider } = context
  await isAtProvider(context, visitor)
  await camera?.(visitor)
  const codes = provider.grants.authorization_code ?? 0
  const seconds = await timed(async () => {
    await visitor.login(name, people[name].password)
    await seesOrbit(visitor, 0.3)
  })
  mustBe('codes that the gateways exchanged', provider.grants.authorization_code, codes + 1)
  const saw = `led to the provider, and with its code back to the page: ${timesAsFar(0.3)} times as far`
  return { step: `${name} opens /console/apps/orbits/`, saw, seconds }
}

export async function slide({ camera, signal }: AppsContext, visitor: Visitor): Promise<Verdict> {
  let value = Number.NaN
  const seconds = await timed(async () => {
    value = await moveSlider(visitor, signal)
  })
  mustBe('a WebSocket', visitor.hasSocket, true)
  await camera?.(visitor)
  return { step: 'she moves the slider', saw: `${timesAsFar(value)} times as far, by the WebSocket`, seconds }
}

/** MLflow's pages know their prefix, and show the run of the pod. */
export async function seeExperiments({ camera }: AppsContext, visitor: Visitor): Promise<Verdict> {
  const seconds = await timed(async () => {
    mustBe('the page of MLflow', await visitor.open('mlflow'), 200)
    await visitor.sees('galaxies')
    await camera?.(visitor)
  })
  return { step: 'she opens /console/apps/mlflow/', saw: 'the experiment galaxies, in the pages of MLflow', seconds }
}

/** Logs in, but is of no group that matters. */
export async function refuse({ people }: AppsContext, visitor: Visitor): Promise<Verdict> {
  await visitor.open('orbits')
  await visitor.login('max', people.max.password)
  await visitor.sees('not for you')
  mustBe('the page for a stranger', await visitor.open('orbits'), 403)
  mustBe('the group on it', (await visitor.text()).includes(`for members of the group ${group}`), true)
  return { step: 'max, who is not of the group, opens it', saw: `403, ${await visitor.heading()}`, seconds: null }
}

const patch = ({ kubectl }: AppsContext, id: string, spec: object) =>
  kubectl(['patch', 'phapplication', id, ...inGroup, '--type=merge', '-p', JSON.stringify({ spec })])

/** Seconds from the beginning of a deed until it has cut the visitor's WebSockets. */
export async function cutBy(visitor: Visitor, deed: () => Promise<unknown>): Promise<number> {
  const sinceMs = systemClock.monotonicMs()
  const [ms] = await Promise.all([visitor.socketsClosed(sinceMs), deed()])
  return roundSeconds(ms)
}

/** The scope is `public` for a while: somebody without a login is in, and out again. */
export async function openToAll(context: AppsContext, visitor: Visitor): Promise<readonly Verdict[]> {
  await isAtProvider(context, visitor)
  const opened = await timed(async () => {
    await patch(context, 'orbits', { scope: 'public' })
    const isIn = async () => (await ask(context, '/console/apps/orbits/')) === 200
    await waitUntil(isIn, { what: 'a public app', limitMs, signal: context.signal })
  })
  await visitor.open('orbits')
  await seesOrbit(visitor, 0.3)
  mustBe('a WebSocket', visitor.hasSocket, true)
  const cut = await cutBy(visitor, () => patch(context, 'orbits', { scope: 'group' }))
  return [
    { step: 'scope: public', saw: 'somebody without a login gets the page', seconds: opened },
    { step: 'scope: group again', saw: 'that WebSocket is cut', seconds: cut },
  ]
}

/** Stops the app; its page has a button, which starts it. */
export async function stopAndStart(context: AppsContext, visitor: Visitor): Promise<readonly Verdict[]> {
  const { camera } = context
  await visitor.open('orbits')
  await seesOrbit(visitor, 0.3)
  const cut = await cutBy(visitor, () => patch(context, 'orbits', { stop: true }))
  await untilPhase(context, 'Stopped', 'orbits')
  mustBe('the page of a stopped app', await visitor.open('orbits'), 503)
  await visitor.sees('The app is stopped')
  const start = visitor.page.getByRole('button', { name: 'Start' })
  await start.waitFor()
  await camera?.(visitor)
  const seconds = await timed(async () => {
    await start.click()
    await seesOrbit(visitor, 0.3)
  })
  return [
    { step: 'the app is stopped', saw: 'the WebSocket is cut; then a page with the phase, and a button', seconds: cut },
    { step: 'ada presses Start', saw: 'a page that looks again by itself, until the app is there', seconds },
  ]
}

/** Kills the gateways one after another, so also the one with the WebSocket; the page goes on by the other. */
export async function killGateways(context: AppsContext, visitor: Visitor): Promise<readonly Verdict[]> {
  const verdicts: Verdict[] = []
  await visitor.open('orbits')
  for (const gateway of context.gateways) {
    await moveSlider(visitor, context.signal)
    verdicts.push(await killOne(context, visitor, gateway))
    await gateway.ready(context.signal)
  }
  mustBe('a gateway with the WebSocket', verdicts.filter(({ seconds }) => seconds !== null).length >= 1, true)
  return verdicts
}

async function killOne({ signal }: AppsContext, visitor: Visitor, gateway: Replica): Promise<Verdict> {
  const step = `kill -9 of ${gateway.name}`
  const sinceMs = systemClock.monotonicMs()
  const { ended } = gateway
  // From before the kill on: the page opens another one at once.
  const cut = visitor.socketsClosed(sinceMs, cutMs).then(
    () => true,
    () => false,
  )
  gateway.kill()
  await ended
  const isCut = await cut
  await moveSlider(visitor, signal)
  const seconds = roundSeconds(systemClock.monotonicMs() - sinceMs)
  if (!isCut) return { step, saw: 'the WebSocket is at the other gateway: the slider moves', seconds: null }
  return { step, saw: 'the WebSocket breaks; by the other gateway the slider moves again', seconds }
}

export async function logOut(visitor: Visitor): Promise<Verdict> {
  const cut = await cutBy(visitor, () => visitor.logout())
  return {
    ...{ step: 'ada logs out in another tab, at the gateway and at the provider', seconds: cut },
    saw: 'the WebSocket of the first tab is cut',
  }
}

/** Visitors for the story, each with a browser of their own. */
export const arrive = ({ browser, url }: AppsContext): Promise<Visitor> => Visitor.arrive(browser, url)
