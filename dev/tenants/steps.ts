/** Steps of the demo of tenants: each is one thing that a person does, and the wait until it has its effect. */
import { systemClock } from '../../src/base/clock.ts'
import { guards } from '../../src/tenants/probes.ts'
import { tenantLabels } from '../../src/tenants/words.ts'
import { roundSeconds } from '../demo/say.ts'
import { waitUntil } from '../process/api-client.ts'
import { type TenantsContext, tenant } from './context.ts'
import type { Name, Person, Printed } from './people.ts'
import { may, questionsAbout } from './questions.ts'

type Show = (text: string) => void

/** Longer than anything takes, but for the cluster's own removal of a namespace. */
const limitMs = 20_000
/** The garbage collector of a new cluster learns of a new kind within half a minute. */
const removalLimitMs = 120_000

/** Runs kubectl as a person, and shows command and answer. @throws when it fails */
export async function type(person: Person, args: readonly string[], show: Show): Promise<Printed> {
  const printed = await person.kubectl(...args)
  show(typed(person.name, `kubectl ${args.map(quoted).join(' ')}`, printed))
  if (!printed.succeeded) throw new Error(`kubectl ${args.join(' ')} as ${person.name}: ${printed.text}`)
  return printed
}

const quoted = (word: string) => (/^[\w./:=@-]+$/.test(word) ? word : `'${word}'`)

/** A command as a person types it, and what it prints. */
export const typed = (name: Name, command: string, { text }: Pick<Printed, 'text'>): string =>
  [`  ${name}$ ${command}`, ...text.split('\n').map(line => `  ${line}`)].join('\n').trimEnd()

/** Seconds until the work is done. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const begunMs = systemClock.monotonicMs()
  await work()
  return roundSeconds(systemClock.monotonicMs() - begunMs)
}

/** @returns seconds from the command to all rights */
export async function make({ people }: Pick<TenantsContext, 'people'>, show: Show): Promise<number> {
  const command = ['create', 'lns', tenant, '--user', 'grace', '--eligible', 'max', '--wait']
  const seconds = await timed(() => type(people.ada, command, show))
  await type(people.grace, ['get', 'lns'], show)
  return seconds
}

/** @returns seconds from the edit to its effect on both */
export async function edit(context: TenantsContext, show: Show): Promise<number> {
  const { people } = context
  const patch = JSON.stringify({ spec: { users: [{ kind: 'User', name: 'max' }] } })
  await type(people.ada, ['sudo', 'patch', 'lns', tenant, '--type=merge', '-p', patch], show)
  return timed(() => Promise.all([untilMay(context, 'grace', 1, false), untilMay(context, 'max', 1, true)]))
}

const rootOf = 4

/** Waits until the API server answers a question so. */
async function untilMay({ people, signal }: TenantsContext, name: Name, question: number, wanted: boolean) {
  const asked = questionsAbout(tenant)[question]!
  const what = `${name}: ${asked.words}: ${wanted ? 'yes' : 'no'}`
  await waitUntil(async () => (await may(people[name], asked)) === wanted, { what, limitMs, signal })
}

export interface Granted {
  readonly until: string
  readonly seconds: number
}

/** Asks for sudo over REST. */
export async function grantSudo(context: TenantsContext, ttlSeconds: number, show: Show): Promise<Granted> {
  const { people, url, signal } = context
  const body = JSON.stringify({ ttlSeconds, reason: 'the queue is stuck' })
  const begunMs = systemClock.monotonicMs()
  const response = await fetch(`${url}/tenants/v1/${tenant}/sudo`, {
    ...{ method: 'POST', body, signal },
    headers: { authorization: `Bearer ${people.max.token}`, 'content-type': 'application/json' },
  })
  const text = await response.text()
  const command = `curl -X POST -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '${body}' $REST/tenants/v1/${tenant}/sudo`
  show(typed('max', command, { text: `${response.status} ${text}` }))
  if (response.status !== 202) throw new Error(`sudo for max: ${response.status} ${text}`)
  await untilMay(context, 'max', rootOf, true)
  const seconds = roundSeconds(systemClock.monotonicMs() - begunMs)
  await type(people.max, ['sudo', 'auth', 'can-i', 'delete', `lnamespaces/${tenant}`, '-n', tenant], show)
  return { until: (JSON.parse(text) as { until: string }).until, seconds }
}

/** Fails unless the cluster refuses to take a bound away, by the policy that guards it. */
export async function tryBound({ people }: TenantsContext, show: Show): Promise<void> {
  const args = ['sudo', 'delete', 'networkpolicy', 'lns-platform', '-n', tenant]
  const printed = await people.max.kubectl(...args)
  show(typed('max', `kubectl ${args.join(' ')}`, printed))
  const isGuarded = !printed.succeeded && printed.text.includes(`'${guards[1]}'`)
  if (!isGuarded) throw new Error(`the NetworkPolicy of ${tenant} is not guarded: ${printed.text}`)
}

/** @returns seconds from the end of the grant to the first refusal */
export async function untilSudoEnds(context: TenantsContext, { until }: Granted): Promise<number> {
  const untilMs = Date.parse(until)
  await systemClock.sleep(Math.max(untilMs - systemClock.wallMs(), 0), context.signal)
  await untilMay(context, 'max', rootOf, false)
  return roundSeconds(systemClock.wallMs() - untilMs)
}

/** Deletes the LNamespace by sudo. @returns seconds until nothing of it is left */
export async function remove(
  { people, admin, signal }: Pick<TenantsContext, 'people' | 'admin' | 'signal'>,
  show: Show,
): Promise<number> {
  return timed(async () => {
    await type(people.ada, ['sudo', 'delete', 'lns', tenant], show)
    const kinds = 'namespaces,clusterroles,clusterrolebindings'
    const left = async () => {
      const ours = await admin(['get', kinds, '-l', tenantLabels.installation, '-o', 'name'])
      return ours.trim()
    }
    const what = `the end of the namespace ${tenant} and its roles`
    await waitUntil(async () => (await left()) === '', { what, limitMs: removalLimitMs, signal })
  })
}
