/** What must be so in Redis after every command of dispatch: reads all keys, and lists what is not. */
import type { Redis } from 'ioredis'
import { encodeShape, groupOf, parseContainer, parseMachine, parseShape } from '../../../src/store/dispatch/forms.ts'
import type { Keys } from '../../../src/store/keys.ts'

type Fields = Record<string, string>

interface Found {
  readonly containers: ReadonlyMap<string, Fields>
  readonly machines: ReadonlyMap<string, ReturnType<typeof parseMachine>>
  readonly records: ReadonlyMap<string, Fields>
  readonly waiting: Fields
  readonly sent: Fields
  readonly groups: Fields
  readonly groupIds: readonly string[]
  readonly counts: Fields
  /** By owner. */
  readonly bytes: Fields
  readonly statuses: Fields
  readonly ids: Fields
  readonly unasked: readonly string[]
  readonly found: string | null
  /** By group: members with their scores. */
  readonly members: ReadonlyMap<string, ReadonlyMap<string, number>>
  /** By index: all, those of an owner, those of a state. */
  readonly listed: ReadonlyMap<string, readonly string[]>
  readonly ended: readonly string[]
  /** Those that have ended with output. */
  readonly outputs: readonly string[]
  /** By uuid: bytes of the beginning and of the end of its output, as they count. */
  readonly heads: ReadonlyMap<string, number>
  readonly tails: ReadonlyMap<string, number>
  readonly eventsOf: readonly string[]
  readonly kept: Fields
}

/** @returns what is wrong, in words; nothing if all is consistent */
export async function brokenRules(redis: Redis, keys: Keys): Promise<string[]> {
  const found = await readAll(redis, keys)
  const wrong: string[] = []
  const must = (holds: boolean, words: string) => {
    if (!holds) wrong.push(words)
  }
  checkContainers(found, must)
  checkMachines(found, must)
  checkSets(found, must)
  checkKept(found, must)
  checkActive(found, must)
  for (const [uuid, fields] of found.containers) await checkStream(redis, keys, uuid, fields, must)
  return wrong
}

type Must = (holds: boolean, words: string) => void

const endedStates = ['Complete', 'Cancelled']

function checkContainers(found: Found, must: Must): void {
  const { containers, machines, waiting, sent, members } = found
  for (const [uuid, fields] of containers) {
    const { state, machine: name, group: id = '', priority } = fields
    const isEnded = endedStates.includes(state!)
    const waits = uuid in waiting
    const isSent = uuid in sent
    const brief = machines.get(name!)
    must([...endedStates, 'Queued', 'Locked', 'Running'].includes(state!), `${uuid} has the state ${state}`)
    must(
      Number(waits) + Number(isSent) + Number(isEnded) === 1,
      `${uuid} (${state}) waits, is sent, or has ended: one of these`,
    )
    must(state !== 'Queued' || waits, `${uuid} is queued, and does not wait`)
    must(state !== 'Running' || isSent, `${uuid} runs, and was not sent`)
    must((fields.active === '1') === !isEnded, `${uuid} is active if it has not ended`)
    must(
      groupOf(fields.shape!) === id && encodeShape(parseShape(fields.shape)) === fields.shape,
      `${uuid} is of its group`,
    )
    const of = [...members].filter(([, those]) => those.has(uuid)).map(([group]) => group)
    must(of.join() === (waits && priority !== '0' ? id : ''), `${uuid} (${state}, ${priority}) stands in groups ${of}`)
    if (of.length > 0) must(members.get(id)!.get(uuid) === -Number(priority), `${uuid} stands at its priority`)
    if (waits) {
      const at = state === 'Locked' ? name : ''
      const text = [id, priority, fields.queuedMs, fields.attempts, fields.version, at].join(' ')
      must(waiting[uuid] === text, `${uuid} has the brief ${waiting[uuid]}, not ${text}`)
    }
    if (state === 'Locked' || state === 'Running') {
      const its = brief?.containers.find(each => each.uuid === uuid)
      must(its !== undefined, `${uuid} is ${state} on ${name}, which does not have it`)
      must(its?.run === (isSent ? Number(fields.run) : 0), `${uuid} has the run that its machine has`)
      must(brief?.tenant === parseShape(fields.shape).tenant, `${name} is of the tenant of ${uuid}`)
      must(brief?.ending === '' || isSent, `${uuid} is assigned to ${name}, which ends`)
    }
    if (isSent) must(sent[uuid] === name && Number(fields.run) > 0, `${uuid} was sent to ${name}`)
    must(Number(fields.runs) <= Number(fields.most), `${uuid} was run ${fields.runs} times`)
    must(
      state !== 'Complete' || parseContainer(new Map(Object.entries(fields))).exitCode !== undefined,
      `${uuid} has an exit code`,
    )
  }
  for (const uuid of [...Object.keys(waiting), ...Object.keys(sent)]) must(containers.has(uuid), `${uuid} has a record`)
}

function checkMachines({ machines, records, containers, ids, unasked, found }: Found, must: Must): void {
  for (const [name, brief] of machines) {
    const { containers: all, instance, state, ending } = brief
    must(brief.name === name && brief.op === Number.parseInt(name, 36), `${name} has its name`)
    must(records.get(name)?.active === '1' && records.get(name)?.op === String(brief.op), `${name} has an operation`)
    must(instance === '' || ids[instance] === name, `${name} is found by ${instance}`)
    must((state === 'shutdown') === (ending !== ''), `${name} is ${state}, and ends because of "${ending}"`)
    for (const { uuid, run, supervisor, need } of all) {
      const fields = containers.get(uuid)
      const shape = parseShape(fields?.shape)
      must(fields?.machine === name, `${name} has ${uuid}, which is of ${fields?.machine}`)
      must(['Locked', 'Running'].includes(fields?.state ?? ''), `${name} has ${uuid}, which is ${fields?.state}`)
      must(run === 0 || state !== 'idle', `${name} is ${state} with a container that was sent`)
      must(supervisor === shape.supervisor, `${name} knows a supervisor`)
      must(texts({ ...need }) === texts({ ...shape.need }), `${name} knows what ${uuid} needs`)
    }
  }
  for (const [id, name] of Object.entries(ids)) must(machines.get(name)?.instance === id, `${id} leads to ${name}`)
  for (const name of unasked) must(machines.has(name), `${name} is to be asked, and not there`)
  must(found === null || unasked.length > 0, 'what was found is forgotten once all were asked')
}

const texts = (of: Record<string, unknown>) =>
  JSON.stringify(
    Object.entries(of)
      .map(([k, v]) => [k, String(v)])
      .sort(),
  )

function checkSets({ containers, waiting, groups, groupIds, counts, statuses, members }: Found, must: Must): void {
  const expected: Record<string, number> = {}
  for (const uuid of Object.keys(waiting)) {
    const owner = containers.get(uuid)?.owner ?? ''
    expected[owner] = (expected[owner] ?? 0) + 1
  }
  must(texts(counts) === texts(expected), `counts are ${texts(counts)}, not ${texts(expected)}`)
  must([...members.keys()].sort().join() === Object.keys(groups).sort().join(), 'each group has members, and a need')
  must(groupIds.toSorted().join() === Object.keys(groups).sort().join(), 'each group is listed')
  for (const [id, those] of members) {
    for (const uuid of those.keys())
      must(containers.get(uuid)?.shape === groups[id], `${uuid} needs what its group needs`)
  }
  for (const id of Object.keys(statuses)) must(id in groups, `the group ${id} has a status, and is not there`)
}

async function checkStream(redis: Redis, keys: Keys, uuid: string, fields: Fields, must: Must): Promise<void> {
  const ids = (await redis.xrange(keys.dispatch.containers.events(uuid), '-', '+')).map(([id]) => id)
  const expected = Array.from({ length: Number(fields.seq) }, (_, i) => `${fields.op}-${i + 1}`)
  must(ids.join() === expected.join() && ids.length > 0, `${uuid} has the events ${ids}, not ${expected}`)
  // What expired would count for ever.
  must((await redis.pttl(keys.dispatch.containers.record(uuid))) === -1, `${uuid} does not expire`)
}

/** As `include/kept.lua` has them. */
const [activeLeast, outputLeast, endedLeast, eventBytes] = [7168, 4096, 8192, 128]

/** What waits or runs counts its view and its specification, for its owner and for all; what has ended counts nothing there. */
function checkActive({ containers, bytes, kept }: Found, must: Must): void {
  const expected: Record<string, number> = {}
  let sum = 0
  for (const [uuid, fields] of containers) {
    const { owner = '', state, view = '', spec = '' } = fields
    const isEnded = endedStates.includes(state!)
    const own = activeLeast + Buffer.byteLength(view) + Buffer.byteLength(spec)
    must(fields.bytes === (isEnded ? undefined : String(own)), `${uuid} (${state}) counts ${fields.bytes}, not ${own}`)
    if (isEnded) continue
    expected[owner] = (expected[owner] ?? 0) + own
    sum += own
  }
  must(texts(bytes) === texts(expected), `bytes of owners are ${texts(bytes)}, not ${texts(expected)}`)
  must(Number(kept.active ?? 0) === sum, `${kept.active} bytes wait or run, and ${sum} are there`)
}

/** Bytes that count are those that are there, and indexes have what is there. */
function checkKept({ containers, ended, outputs, listed, heads, tails, eventsOf, kept }: Found, must: Must): void {
  const expected = new Map<string, string[]>()
  const expect = (index: string, uuid: string) => expected.set(index, [...(expected.get(index) ?? []), uuid])
  let [sum, records] = [0, 0]
  for (const [uuid, { owner, state, view = '', seq, logHead = '0', logTail = '0', kept = '0' }] of containers) {
    for (const index of ['', `-of:${owner}`, `-in:${state}`]) expect(index, uuid)
    const [head, tail] = [heads.get(uuid) ?? 0, tails.get(uuid) ?? 0]
    must(head === Number(logHead) && tail === Number(logTail), `${uuid} has the output ${logHead}, ${logTail}`)
    const isEnded = endedStates.includes(state!)
    const ofOutput = head + tail > 0 ? head + tail + outputLeast : 0
    const ofRecord = isEnded ? endedLeast + Buffer.byteLength(view) + eventBytes * Number(seq) : 0
    must(Number(kept) === ofOutput + ofRecord, `${uuid} counts ${kept}, not ${ofOutput} and ${ofRecord}`)
    must(ended.includes(uuid) === isEnded, `${uuid} is listed as ended if it has`)
    must(outputs.includes(uuid) === (isEnded && ofOutput > 0), `${uuid} is listed if it has ended with output`)
    sum += Number(kept)
    records += ofRecord
  }
  const { bytes = '0', most, mostBytes } = kept
  must(Number(bytes) === sum, `${bytes} bytes count, and ${sum} are there`)
  must(!most || ended.length <= Number(most), `${ended.length} that have ended are kept, and not ${most}`)
  must(Number(kept.records ?? 0) === records, `${kept.records} bytes of records count, and ${records} are there`)
  const isLeast = outputs.length === 0 && records <= Number(mostBytes) / 4
  must(!mostBytes || sum <= Number(mostBytes) || isLeast, `${sum} bytes are kept, and not ${mostBytes}`)
  const texts = (of: ReadonlyMap<string, readonly string[]>) =>
    JSON.stringify([...of].map(([k, v]) => [k, v.toSorted()]).sort())
  must(texts(listed) === texts(expected), `indexes have ${texts(listed)}, not ${texts(expected)}`)
  for (const uuid of [...ended, ...outputs, ...heads.keys(), ...tails.keys(), ...eventsOf])
    must(containers.has(uuid), `what is left of ${uuid} has a record`)
}

async function readAll(redis: Redis, keys: Keys): Promise<Found> {
  const d = keys.dispatch
  const hashesOf = async (prefix: string) => {
    const found = new Map<string, Fields>()
    for (const key of await redis.keys(`${prefix}*`)) found.set(key.slice(prefix.length), await redis.hgetall(key))
    return found
  }
  const groupPrefix = d.group('')
  const members = new Map<string, Map<string, number>>()
  for (const key of await redis.keys(`${groupPrefix}*`)) {
    const flat = await redis.zrange(key, '0', '-1', 'WITHSCORES')
    const pairs = Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i]!, Number(flat[2 * i + 1])] as const)
    members.set(key.slice(groupPrefix.length), new Map(pairs))
  }
  const briefs = Object.entries(await redis.hgetall(d.briefs))
  return {
    containers: await hashesOf(d.containers.record('')),
    machines: new Map(briefs.map(([name, json]) => [name, parseMachine(json)])),
    records: await hashesOf(d.machines.record('')),
    waiting: await redis.hgetall(d.waiting),
    sent: await redis.hgetall(d.sent),
    groups: await redis.hgetall(d.groups),
    groupIds: await redis.zrange(d.groupIds, '0', '-1'),
    counts: await redis.hgetall(d.counts),
    bytes: await redis.hgetall(d.bytes),
    statuses: await redis.hgetall(d.statuses),
    ids: await redis.hgetall(d.ids),
    unasked: await redis.hkeys(d.unasked),
    found: await redis.get(d.found),
    members,
    listed: await indexesOf(redis, d.index),
    ended: await redis.zrange(d.ended, '0', '-1'),
    outputs: await redis.zrange(d.outputs, '0', '-1'),
    heads: await outputsOf(redis, d.logHead('')),
    tails: await outputsOf(redis, d.logTail('')),
    eventsOf: (await redis.keys(`${d.containers.events('')}*`)).map(key => key.slice(d.containers.events('').length)),
    kept: await redis.hgetall(d.kept),
  }
}

async function indexesOf(redis: Redis, all: string): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>()
  for (const key of [all, ...(await redis.keys(`${all}-of:*`)), ...(await redis.keys(`${all}-in:*`))]) {
    const uuids = await redis.zrange(key, '0', '-1')
    if (uuids.length > 0) found.set(key.slice(all.length), uuids)
  }
  return found
}

/** What a piece takes beside its bytes, as `append-log` has it. */
const overhead = 64

async function outputsOf(redis: Redis, prefix: string): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  for (const key of await redis.keys(`${prefix}*`)) {
    const pieces = await redis.xrange(key, '-', '+')
    const bytes = pieces.map(([, [, , , , , size]]) => Number(size) + overhead)
    if (bytes.length > 0)
      found.set(
        key.slice(prefix.length),
        bytes.reduce((sum, each) => sum + each, 0),
      )
  }
  return found
}
