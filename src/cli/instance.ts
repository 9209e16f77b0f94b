/** `skylab instance`: an operator sees the machines of a running installation, and holds, drains or ends them. */
import { asNumber, asObject, asObjects, asText, asTimeMs, type JsonObject } from '../base/json.ts'
import { ageOf, columns } from './columns.ts'
import { type ManagementCommand, managementCommand, type Verb, withWords } from './management.ts'
import { jsonOf, type Output } from './output.ts'

const target = 'the id or the name of an instance'

const verbs = {
  list: {},
  hold: { target },
  drain: { target },
  run: { target },
  kill: { target, reason: true },
} as const satisfies Record<string, Verb>

const done: Readonly<Record<string, string>> = {
  hold: 'is on hold: it gets no container, and only kill ends it',
  drain: 'is drained: it gets no container, and ends as soon as it is idle',
  run: 'runs: it gets containers, and ends when it is idle for TimeoutIdle',
  kill: 'is being ended',
}

/**
 * @param args what follows `skylab instance`
 * @returns the exit code
 * @throws {ConfigError} when the command line or the file with the token is wrong
 */
export async function instance(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  output: Output,
): Promise<number> {
  const command = await managementCommand('instance', verbs, args, env)
  return withWords(output, () => (command.verb === 'list' ? list(command, output) : change(command, output)))
}

async function list({ client, json }: ManagementCommand, { out }: Output): Promise<void> {
  const found = await client.read('instances')
  const items = [...asObjects(asObject(found).items)].sort((a, b) => asTimeMs(a.created_at) - asTimeMs(b.created_at))
  out(json ? jsonOf({ items }, 2) : tableOf(items, Date.now()))
}

async function change({ client, verb, target: id, reason, json }: ManagementCommand, { out }: Output): Promise<void> {
  const tagged = await client.change(`instances/${verb}`, { instance_id: id, ...(reason !== '' && { reason }) })
  const later = tagged ? '' : '. The tag in the cloud follows'
  out(json ? jsonOf({ instance_id: id, [verb]: true, tagged }) : `${id} ${done[verb]}${later}\n`)
}

function tableOf(items: readonly JsonObject[], nowMs: number): string {
  if (items.length === 0) return 'no machine\n'
  const head = ['INSTANCE', 'TYPE', 'STATE', 'BEHAVIOR', 'PRICE', 'AGE', 'ADDRESS', 'CONTAINER', 'WHY']
  const sum = items.reduce((all, { price }) => all + asNumber(price), 0)
  const count = items.length === 1 ? '1 machine' : `${items.length} machines`
  return `${columns(
    head,
    items.map(each => row(each, nowMs)),
  )}${count}, ${money(sum)} an hour\n`
}

function row(each: JsonObject, nowMs: number): string[] {
  const { instance: id, name, arvados_instance_type: type, worker_state: state, idle_behavior: behavior } = each
  const { price, created_at: created, address, running_container_uuids: running, ending, broken } = each
  const uuids = Array.isArray(running) ? running.map(asText).join(' ') : ''
  return [
    // One that is being made has no id in the cloud yet.
    ...[asText(id) || asText(name), asText(type), asText(state), asText(behavior), money(asNumber(price))],
    ...[ageOf(nowMs - asTimeMs(created)), asText(address) || '-', uuids || '-', asText(ending) || asText(broken)],
  ]
}

const money = (price: number) => price.toFixed(3)
