/** The story of the demo of apps, from the login to the end of it. */
import { say } from '../demo/say.ts'
import type { AppsContext } from './context.ts'
import type { Verdict } from './report.ts'
import {
  arrive,
  killGateways,
  logIn,
  logOut,
  openToAll,
  refuse,
  seeExperiments,
  slide,
  stopAndStart,
  useByTcp,
} from './steps.ts'

/** Fails where something else was seen than what was declared. */
export async function tell(context: AppsContext): Promise<readonly Verdict[]> {
  const { options } = context
  const verdicts: Verdict[] = []
  const told = async (text: string, step: Promise<Verdict | readonly Verdict[]>) => {
    say(options, `${text}\n`)
    const shown = [await step].flat()
    for (const { step: what, saw, seconds } of shown) say(options, `  ${what}: ${saw}${after(seconds)}\n`)
    verdicts.push(...shown)
  }
  await told('\nIn the cluster pods of the group reach an app by the name of its Service:', useByTcp(context))
  const [ada, max, nobody] = [await arrive(context), await arrive(context), await arrive(context)]
  await told('\nBrowsers reach it by the gateway, at one address for all apps:', logIn(context, ada, 'ada'))
  await told('Streamlit sends all over a WebSocket:', slide(context, ada))
  await told('The scope of the app is `group`:', refuse(context, max))
  await told('A change of the scope is in force at once, also for what is open:', openToAll(context, nobody))
  await told('A stopped app uses nothing, and members start it by its page:', stopAndStart(context, ada))
  await told('Another app, which knows its prefix:', seeExperiments(context, ada))
  await told('Gateways keep no state, so one may die:', killGateways(context, ada))
  await told('After the logout nothing stays open:', logOut(ada))
  return verdicts
}

const after = (seconds: number | null) => (seconds === null ? '' : ` (${seconds} s)`)
