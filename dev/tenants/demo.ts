/** `npm run demo -- --tenants`: people make a namespace, say who works in it, and become root of it for a while. */
import { systemClock } from '../../src/base/clock.ts'
import type { DemoOptions } from '../demo/options.ts'
import { howToEnd } from '../demo/report.ts'
import { roundSeconds, say } from '../demo/say.ts'
import { createKubectl } from '../kube/kubectl.ts'
import { aborted } from '../process/program.ts'
import { createProgress } from '../process/progress.ts'
import { openRun } from '../run/run.ts'
import { bill, billTo, log as logOf, showTable } from './bill.ts'
import { type TenantsContext, tenant } from './context.ts'
import { formatTenantGuide } from './guide.ts'
import { type Name, pluginFolder } from './people.ts'
import { type Answers, ask, questionsAbout, renderTable } from './questions.ts'
import type { TenantsReport } from './report.ts'
import { setupTenants, startTenants } from './site.ts'
import { edit, grantSudo, make, remove, tryBound, untilSudoEnds } from './steps.ts'

/** With `--once` nobody waits for a whole minute. */
const sudoSeconds = ({ once }: DemoOptions) => (once ? 10 : 60)

export async function demoOfTenants(options: DemoOptions, signal: AbortSignal): Promise<number> {
  const progress = createProgress()
  const begunMs = systemClock.monotonicMs()
  const tools = await setupTenants(progress, signal)
  const run = await openRun(progress)
  let report: TenantsReport | undefined
  try {
    const site = await startTenants({ stateDir: run.stateDir, replicas: options.replicas, tools, progress, signal })
    try {
      const setup = roundSeconds(systemClock.monotonicMs() - begunMs)
      const admin = createKubectl(tools, site.cluster.kubeconfig, site.cluster.stateDir)
      report = await show({ ...site, options, admin, tools, progress, signal }, setup)
    } finally {
      await Promise.all(site.replicas.map(replica => replica.stop(0)))
    }
  } finally {
    await progress.part('take down', () => run.close())
  }
  if (options.once && options.json) process.stdout.write(`${JSON.stringify(report)}\n`)
  return 0
}

async function show(context: TenantsContext, setup: number): Promise<TenantsReport> {
  const { options, progress, people, signal } = context
  const story = await tell(context)
  const report: TenantsReport = {
    url: context.url,
    kubeconfig: context.cluster.kubeconfig,
    people: Object.fromEntries(
      Object.values(people).map(({ name, token, kubeconfig }) => [name, { token, kubeconfig }]),
    ) as TenantsReport['people'],
    namespace: tenant,
    questions: questionsAbout(tenant).map(({ words }) => words),
    answers: story.answers,
    bill: { ...story.bill, ended: null, log: await logOf(context) },
    seconds: { setup, ...story.seconds, delete: null },
  }
  if (options.once) {
    const seconds = { ...report.seconds, delete: await takeAway(context) }
    return { ...report, seconds, bill: { ...report.bill, ended: await bill(context), log: await logOf(context) } }
  }
  progress.summary()
  if (options.json) process.stdout.write(`${JSON.stringify(report)}\n`)
  say(options, formatTenantGuide(report, { tools: context.tools, plugins: pluginFolder }))
  progress.say(howToEnd())
  await aborted(signal)
  return report
}

type Story = Pick<TenantsReport, 'answers'> & {
  readonly bill: Pick<TenantsReport['bill'], 'made' | 'edited'>
  readonly seconds: Omit<TenantsReport['seconds'], 'setup' | 'delete'>
}

/** All that people do but the end. Fails where somebody may more, or less, than the words say. */
async function tell(context: TenantsContext): Promise<Story> {
  const { options, people } = context
  const questions = questionsAbout(tenant)
  const tell = (text: string) => say(options, `${text}\n`)
  const table = async (expected: Readonly<Record<Name, string>>, before?: Answers) => {
    const answers = await ask(people, questions)
    tell(`${renderTable(questions, answers, before)}\n`)
    expectAnswers(answers, expected)
    return answers
  }
  tell('\nThree people have a token of the cluster, and no role in it: ada, grace and max.')
  tell('Everybody sees what runs in the cluster, but no Secrets, and changes nothing:')
  const before = await table({ ada: 'y......', grace: 'y......', max: 'y......' })

  tell(`ada makes a namespace for her team. grace works in it; max is on call, and may ask for sudo:`)
  const ready = await make(context, printed => tell(printed))
  tell(`After ${ready} s namespace, bounds and rights are there. ada made it, so she is its sudoer:`)
  const made = await table({ ada: 'y...y..', grace: 'yyy....', max: 'y......' }, before)

  tell(
    'grace leaves the team, and max takes over. Managers may say so, and root of the namespace, which ada becomes by sudo:',
  )
  const edited = await edit(context, printed => tell(printed))
  tell(`After ${edited} s the edit is effective:`)
  const after = await table({ ada: 'y...y..', grace: 'y......', max: 'yyy....' }, made)

  const ttl = sudoSeconds(options)
  tell('Somebody pays for all of it. ada said nothing of that, so the default of the operators counts:')
  const billed = await showTable(context, printed => tell(printed), ['cost-center=4711'])
  tell('She bills it to her project. The rows of the PostgreSQL follow, and a line of the log is added:')
  const rebilled = await billTo(context, printed => tell(printed))

  tell(`At night max has to mend something as root. He asks for ${ttl} s of sudo, and says why:`)
  const granted = await grantSudo(context, ttl, printed => tell(printed))
  tell(`After ${granted.seconds} s he has it:`)
  const sudo = await table({ ada: 'y...y..', grace: 'y......', max: 'yyy.y..' }, after)
  tell('Nobody loosens the bounds that operators set for a namespace, not even its root:')
  await tryBound(context, printed => tell(printed))
  tell(`\nThe sudo of max ends by itself at ${granted.until}:`)
  const late = await untilSudoEnds(context, granted)
  tell(`${late} s after its end it was gone:`)
  const ended = await table({ ada: 'y...y..', grace: 'y......', max: 'yyy....' }, sudo)
  return {
    bill: { made: billed, edited: rebilled },
    answers: { before, made, edited: after, sudo, ended },
    seconds: { ready, edit: edited, sudo: granted.seconds, sudoEnd: late },
  }
}

/** @param expected by person: a character for each question, `y` for yes */
export function expectAnswers(answers: Answers, expected: Readonly<Record<Name, string>>): void {
  for (const [name, given] of Object.entries(answers) as [Name, readonly boolean[]][]) {
    const found = given.map(is => (is ? 'y' : '.')).join('')
    if (found !== expected[name]) throw new Error(`${name} may ${found}, where ${expected[name]} was declared`)
  }
}

async function takeAway(context: TenantsContext): Promise<number> {
  const { options } = context
  say(options, 'ada deletes what she made:\n')
  const seconds = await remove(context, printed => say(options, `${printed}\n`))
  await showTable(context, printed => say(options, `${printed}\n`), [])
  say(
    options,
    `After ${seconds} s nothing of it is left: no namespace, no role, no binding, no bill. The garbage collector of the cluster removes
them; a new cluster's learns of a new kind within half a minute.\n`,
  )
  return seconds
}
