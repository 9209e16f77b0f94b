/** The story of the demo of apps, from the first app to the last login. */
import { systemClock } from '../../src/base/clock.ts'
import { roundSeconds, say } from '../demo/say.ts'
import type { AppsContext } from './context.ts'
import { leaveGroup } from './provider-steps.ts'
import type { Verdict } from './report.ts'
import {
  appFiles,
  applyApps,
  appTable,
  arrive,
  killGateways,
  logIn,
  logOut,
  openToAll,
  refuse,
  seeExperiments,
  slide,
  stopAndStart,
  timed,
  untilPhase,
  useByTcp,
} from './steps.ts'
import { makeOfTemplate, oscillator, putTemplate, readLog, seeLevels } from './template-steps.ts'

export interface Told {
  readonly verdicts: readonly Verdict[]
  readonly seconds: { readonly ready: number; readonly story: number }
}

type Tell = (text: string, step: () => Promise<Verdict | readonly Verdict[]>) => Promise<void>

/** Fails where something else was seen than what was declared. */
export async function tell(context: AppsContext): Promise<Told> {
  const { options } = context
  const verdicts: Verdict[] = []
  const told: Tell = async (text, step) => {
    say(options, `${text}\n`)
    const shown = [await step()].flat()
    for (const { step: what, saw, seconds } of shown) say(options, `  ${what}: ${saw}${after(seconds)}\n`)
    verdicts.push(...shown)
  }
  const ready = await install(context, told)
  const begunMs = systemClock.monotonicMs()
  await use(context, told)
  return { verdicts, seconds: { ready, story: roundSeconds(systemClock.monotonicMs() - begunMs) } }
}

/** @returns the seconds until all apps are Ready */
async function install(context: AppsContext, told: Tell): Promise<number> {
  const { options } = context
  const seconds = await timed(async () => {
    say(
      options,
      "\nada applies three apps of her group phusers: MLflow as PrimeHub's example has it, MLflow with pages, Streamlit.\n",
    )
    await applyApps(context)
    await told('A fourth one, of Shiny, is made of a template by REST, without kubectl:', async () => [
      await putTemplate(context),
      await makeOfTemplate(context),
    ])
    await untilPhase(context, 'Ready', ...appFiles, oscillator)
  })
  say(options, `All are Ready after ${seconds} s:\n${indented(await appTable(context))}\n`)
  return seconds
}

async function use(context: AppsContext, told: Tell): Promise<void> {
  await told('\nIn the cluster pods of the group reach an app by the name of its Service:', () => useByTcp(context))
  const [ada, max, nobody] = [await arrive(context), await arrive(context), await arrive(context)]
  await told('\nBrowsers reach it by the gateway, after a login at the OpenID provider:', () =>
    logIn(context, ada, 'ada'),
  )
  await told('Streamlit sends all over a WebSocket:', () => slide(context, ada))
  await told('Shiny does not know its prefix, so the gateway cuts it off (`rewrite`):', () => seeLevels(ada))
  await told('Members read the logs of their apps, from the kubelet of the node:', () => readLog(context, ada))
  await told('The scope of the app is `group`:', () => refuse(context, max))
  await told('A change of the scope is in force at once, also for what is open:', () => openToAll(context, nobody))
  await told('A stopped app uses nothing, and members start it by its page:', () => stopAndStart(context, ada))
  await told('Another app, which knows its prefix:', () => seeExperiments(context, ada))
  await told('Gateways keep no state, so one may die:', () => killGateways(context, ada))
  await told('After the logout nothing stays open:', () => logOut(ada))
  await told('She has to log in again, also at the provider:', () =>
    logIn({ ...context, camera: undefined }, ada, 'ada'),
  )
  await told('Gateways ask the provider again about each login that is used:', () => leaveGroup(context, ada))
}

const after = (seconds: number | null) => (seconds === null ? '' : ` (${seconds} s)`)
const indented = (text: string) => text.trimEnd().replaceAll(/^/gm, '  ')
