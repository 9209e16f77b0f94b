/** `skylab container`: an operator sees the queue of a running installation, with why each container waits, and cancels one. */
import { asNumber, asObject, asObjects, asText, asTimeMs, type JsonObject } from '../base/json.ts'
import { ageOf, columns } from './columns.ts'
import { type ManagementCommand, managementCommand, type Verb, withWords } from './management.ts'
import { jsonOf, type Output } from './output.ts'

const verbs = {
  list: {},
  kill: { target: 'the uuid of a container', reason: true },
} as const satisfies Record<string, Verb>

/**
 * @param args what follows `skylab container`
 * @returns the exit code
 * @throws {ConfigError} when the command line or the file with the token is wrong
 */
export async function container(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  output: Output,
): Promise<number> {
  const command = await managementCommand('container', verbs, args, env)
  return withWords(output, () => (command.verb === 'list' ? list(command, output) : kill(command, output)))
}

async function list({ client, json }: ManagementCommand, { out }: Output): Promise<void> {
  const found = asObject(await client.read('containers'))
  const items = asObjects(found.items)
  out(json ? jsonOf({ items, more: found.more }, 2) : tableOf(items, found.more === true))
}

async function kill({ client, target: uuid, reason, json }: ManagementCommand, { out }: Output): Promise<void> {
  await client.change('containers/kill', { container_uuid: uuid, reason })
  out(json ? jsonOf({ container_uuid: uuid, kill: true }) : `${uuid} is being cancelled\n`)
}

function tableOf(items: readonly JsonObject[], more: boolean): string {
  if (items.length === 0) return 'no container waits or runs\n'
  const head = ['CONTAINER', 'OWNER', 'STATE', 'PRIORITY', 'AGE', 'VCPUS', 'RAM', 'TYPE', 'WHY']
  const rows = items.map(each => row(each, Date.now()))
  const waiting = items.filter(({ container: shown }) => asObject(shown).state === 'Queued').length
  const last = more ? ', and more that are not shown' : ''
  return `${columns(head, rows)}${items.length - waiting} have a machine, ${waiting} wait${last}\n`
}

function row(each: JsonObject, nowMs: number): string[] {
  const { uuid, owner, state, priority, created_at: created, runtime_constraints: needs } = asObject(each.container)
  const { vcpus, ram } = asObject(needs)
  const [cheapest] = asObjects(each.instance_types)
  return [
    ...[asText(uuid), asText(owner), asText(state), String(asNumber(priority)), ageOf(nowMs - asTimeMs(created))],
    ...[String(asNumber(vcpus)), `${(asNumber(ram) / 2 ** 30).toFixed(1)}GiB`, asText(cheapest?.Name) || '-'],
    asText(each.scheduling_status),
  ]
}
