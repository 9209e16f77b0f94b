/**
 * Negative controls: attacks must fail without their guard. The product has no switch for that: a control is a list of
 * edits to a copy of its source, and the replicas of a fleet run that copy.
 *
 *     npm run faults -- --controls [NAME…]                 each control with the attacks that it must turn red
 *     SKYLAB_CONTROL=no-fence npx vitest run …             all fleets of a run without their guard
 *     trial.fleet({ control: 'no-self-stop' })             one fleet, for an attack that shows another guard’s effect
 *
 * Controls of the environment and of a fleet add up.
 */
import type { Control, Edit } from './control.ts'
import { controlsOfDeclarations } from './controls-of-declarations.ts'
import { controlsOfDispatch } from './controls-of-dispatch.ts'
import { controlsOfGateway } from './controls-of-gateway.ts'
import { controlsOfIdle } from './controls-of-idle.ts'
import { controlsOfIdleApps } from './controls-of-idle-apps.ts'
import { controlsOfTenants } from './controls-of-tenants.ts'
import { lateWatches } from './late-watches.ts'

/** Environment variable of vitest: names of controls for every fleet, separated by commas. */
export const controlVariable = 'SKYLAB_CONTROL'

const leases = 'src/leases/leases.ts'
const connection = 'src/store/connection.ts'
const link = 'src/store/link.ts'

export const controls: readonly Control[] = [
  {
    // An owner continues until a script refuses it: neither its clock nor a message stops it.
    name: 'no-self-stop',
    attacks: [],
    edits: [
      {
        file: leases,
        find: 'if (this.#clock.monotonicMs() >= this.validUntilMs) this.lose(new LeaseLost(overdue))',
        replace: '',
      },
      { file: leases, find: 'Math.min(extendAtMs, ...ends)', replace: 'extendAtMs' },
      { file: leases, find: 'this.#lose(lease, overdue)', replace: '{}' },
      { file: leases, find: "this.#lose(lease, 'the lease is lost: another owns the operation')", replace: '{}' },
      { file: leases, find: 'if (!lease || lease.op >= op) return', replace: 'return' },
    ],
  },
  {
    name: 'no-fence',
    beside: 'no-self-stop',
    // Either the owners never give up, or the final deletion leaves something that they made.
    attacks: [
      { name: 'T3 ', expected: /slipped: create |every stale owner gives up|\["the namespace of / },
      // The world of toys refuses its writes, and nothing tells it that another owner has the operation.
      { name: 'toys T3', expected: /every stale owner gives up/ },
      { name: 'dispatch V9 stopped', expected: /never gives up/ },
    ],
    edits: [
      {
        file: 'src/store/commands/include/owner.lua',
        find: "return current[1] ~= op or current[2] ~= token or current[3] ~= '1'",
        replace: 'return false',
      },
    ],
  },
  {
    name: 'no-policy',
    // Only the whole attack has so many stale writes that some always reach the policy.
    whole: true,
    attacks: [{ name: 'T3 stop past the lease', expected: /stale writes refused by the policy/ }],
    edits: [
      {
        file: 'k8s/base/policy.yaml',
        find: 'policyName: skylab\n  validationActions: [Deny]',
        replace: 'policyName: skylab\n  validationActions: [Audit]',
      },
    ],
  },
  {
    // Redis alone remembers this number. Those of claims, the epochs, are drawn in the same way.
    name: 'counter',
    attacks: [
      { name: 'T7 Redis emptied under operations in progress', expected: /I6/ },
      { name: 'toys T7', expected: /to be greater than|I6/ },
    ],
    edits: [
      {
        file: 'src/store/commands/include/draw.lua',
        find: "math.max(tonumber(redis.call('GET', last) or 0), now_us())",
        replace: "tonumber(redis.call('GET', last) or 0)",
      },
    ],
  },
  {
    // Nothing of ours is removed: a creation takes existing objects for its own.
    name: 'namespace-reused',
    attacks: [{ name: 'T14 all that 409 can mean', expected: /namespace of an older op: made way for/ }],
    edits: [
      {
        file: 'src/ops/removal.ts',
        find: "scope === 'olderOps' && namespace.op === context.op && !namespace.terminating",
        replace: "scope === 'olderOps' && !namespace.terminating",
      },
      {
        file: 'src/ops/create.ts',
        find: 'if (namespace.op === context.op && !namespace.terminating) return namespace.uid',
        replace: 'if (!namespace.terminating) return namespace.uid',
      },
    ],
  },
  {
    name: 'no-uid-precondition',
    beside: 'no-self-stop',
    attacks: [
      // A running lab lost its pod.
      { name: 'T3 ', expected: /"status":"failed","pod":"missing"/ },
      { name: 'T14 all that 409 can mean', expected: /deletion meets/ },
    ],
    edits: [{ file: 'src/kube/client.ts', find: 'preconditions: { uid: ref.uid, resourceVersion },', replace: '' }],
  },
  {
    // The client's defaults: it resends unanswered commands, waits for ever, and queues commands while offline.
    name: 'default-ioredis',
    whole: true,
    attacks: [{ name: 'T6 ', expected: /took longer than 1200 ms/ }],
    edits: [
      { file: link, find: 'autoResendUnfulfilledCommands: false,', replace: '' },
      { file: link, find: 'enableOfflineQueue: false,', replace: '' },
      { file: link, find: 'maxRetriesPerRequest: 0,', replace: '' },
      { file: connection, find: 'answerMs: commandTimeoutMs,', replace: '' },
      { file: connection, find: 'silenceMs: 3 * commandTimeoutMs,', replace: '' },
    ],
  },
  {
    name: 'no-cap',
    attacks: [{ name: 'T22 ', expected: /no last event/ }],
    edits: [
      {
        file: 'src/ops/course.ts',
        find: 'if (turn.attempts > maxAttempts) {',
        replace: 'if (false) {',
      },
    ],
  },
  {
    name: 'accepted-twice',
    attacks: [{ name: 'T23 ', expected: /not as if one after another/ }],
    edits: [
      {
        file: 'src/store/commands/accept-create.13.lua',
        find: "if standing[1] and standing[1] ~= 'failed' then",
        replace: 'if false then',
      },
    ],
  },
  {
    name: 'unmasked',
    attacks: [{ name: 'P8 planted', expected: /in statuses/ }],
    edits: [{ file: 'src/labs/env.ts', find: 'isSecret(name, value) ? mask : value', replace: 'value' }],
  },
  {
    // Any replica with the key opens any plan: two labs get each other’s numbers.
    name: 'unbound',
    attacks: [{ name: 'P8 plans', expected: /I6/ }],
    edits: [
      {
        file: 'src/store/sealing.ts',
        find: 'nonce: string) => Buffer',
        replace: "nonce: string) => Buffer.from('') ?? Buffer",
      },
    ],
  },
  {
    // A user may send as many requests as the replica can answer, with bodies of a MiB that are counted after parsing.
    name: 'no-rates',
    attacks: [{ name: 'T28 ', expected: /p99 of the others|of processor time/ }],
    edits: [
      {
        file: 'src/api/bounds/rates.ts',
        find: 'if (waitMs > 0) throw refused(kind',
        replace: 'if (waitMs < 0) throw refused(kind',
      },
      {
        file: 'src/api/bounds/json.ts',
        find: 'if (commas > maxJsonItems || opened - 1 > maxJsonItems) throw',
        replace: 'if (commas > 1e9) throw',
      },
      { file: 'src/api/bounds/json.ts', find: 'if (items > maxJsonItems) throw', replace: 'if (items > 1e9) throw' },
      { file: 'src/api/request/errors.ts', find: 'if (details.length >= maxDetails) break', replace: '' },
      { file: 'src/config/limits.ts', find: 'maxBodiesPerUser: count(1)', replace: 'maxBodiesPerUser: count(512)' },
    ],
  },
  {
    // A creation asks for ever whether a lab exists.
    name: 'asked-for-ever',
    attacks: [{ name: 'T30 ', expected: /no last event|it has not ended/ }],
    edits: [
      {
        file: 'src/ops/lab-kind.ts',
        find: 'const [refusalMs, silenceMs] = recordMayBeOld',
        replace: 'const [refusalMs, silenceMs] = true',
      },
    ],
  },
  {
    // No operation removes what a failed one could not remove.
    name: 'left-behind',
    attacks: [{ name: 'T30 ', expected: /nothing left of/ }],
    edits: [
      { file: 'src/ops/upkeep/debris.ts', find: 'record.remains === true', replace: 'false' },
      { file: 'src/ops/upkeep/settle.ts', find: 'record.remains === true', replace: 'false' },
    ],
  },
  {
    // A compare accepts a clock that contradicts every lab.
    name: 'clock-believed',
    whole: true,
    attacks: [{ name: 'T29 the clock of Redis', expected: /P7 .* was answered 404/ }],
    edits: [
      {
        file: 'src/ops/upkeep/compare.ts',
        find: 'if (doubt !== undefined) return this.#leaveDoubt(mark, doubt)',
        replace: '',
      },
    ],
  },
  {
    // A compare takes ops from any object with our label, and ops have no upper bound.
    name: 'labels-believed',
    whole: true,
    attacks: [{ name: 'T29 an op that a stranger wrote', expected: /I6/ }],
    edits: [
      {
        file: 'src/store/commands/include/draw.lua',
        find: 'return op > math.min(',
        replace: 'return false and math.min(',
      },
      {
        file: 'src/ops/upkeep/listing.ts',
        find: 'let highestOp = 0',
        replace: 'let highestOp = namespaces.reduce((most, { namespace: { op = 0 } }) => Math.max(most, op), 0)',
      },
    ],
  },
  {
    // All owners of an operation have the epoch of the first one, so the world of toys cannot tell a stale owner from a new one.
    name: 'one-epoch',
    attacks: [{ name: 'toys T3', expected: /"what":"home".*"code":201/ }],
    edits: [
      {
        file: 'src/store/commands/claim-operation.9.lua',
        find: "draw(epochs, redis.call('HGET', record, 'epoch'))",
        replace: "(redis.call('HGET', record, 'epoch') or draw(epochs))",
      },
    ],
  },
  {
    // Redis' data are used without a compare, for one lab and for the list.
    name: 'no-generation',
    attacks: [{ name: 'T7 Redis emptied under 20 labs', expected: /expected 404 to be 200|ArrayContaining/ }],
    edits: ['read-subject.3', 'list-running.2'].map(command => ({
      file: `src/store/commands/${command}.lua`,
      find: 'if not compared(KEYS[1], ARGV[1]) then',
      replace: 'if false then',
    })),
  },
  ...controlsOfDeclarations,
  ...controlsOfTenants,
  lateWatches,
  ...controlsOfIdle,
  ...controlsOfGateway,
  ...controlsOfIdleApps,
  ...controlsOfDispatch,
]

/**
 * Whether the edit changes the cluster, as `npm run faults -- --controls` does; all others change replicas. A fleet of tenants
 * applies its component itself.
 */
export const isOfCluster = ({ file }: Edit): boolean => file.startsWith('k8s/base/')

/** @throws if the text does not occur exactly once */
export function edited(text: string, { file, find, replace }: Edit, control: string): string {
  const count = text.split(find).length - 1
  if (count !== 1) throw new Error(`control ${control} is broken: its text occurs ${count} times in ${file}`)
  return text.replace(find, () => replace)
}

export function controlNamed(name: string): Control {
  const control = controls.find(each => each.name === name)
  if (!control) throw new Error(`no such control: ${name}`)
  return control
}
