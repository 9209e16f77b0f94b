/** Reads what scripts keep of containers and machines. Pure. */
import { createHash } from 'node:crypto'
import { asNumber, asObject, asText, type JsonObject, parseJson } from '../../base/json.ts'
import type {
  ContainerBrief,
  ContainerRecord,
  ContainerState,
  ContainerView,
  MachineBrief,
} from '../../dispatch/container.ts'
import type { Need } from '../../dispatch/types.ts'

/** The common part of the containers of one group. */
export interface Shape {
  readonly need: Need
  readonly tenant: string
  readonly supervisor: boolean
}

/** A record without what only the keeper of its machine needs. */
export type ContainerShown = Omit<ContainerRecord, 'sealedSpec'>

/** Its fields have one order, so that equal shapes are equal texts. */
export function encodeShape({ need, tenant, supervisor }: Shape): string {
  const { vcpus, ramBytes, scratchBytes, gpus, preemptible } = need
  return wellFormed({ need: { vcpus, ramBytes, scratchBytes, gpus, preemptible }, tenant, supervisor })
}

/** The id of a group: nobody can find two shapes with one. */
export const groupOf = (shape: string): string => createHash('sha256').update(shape).digest('hex').slice(0, 32)

/** Redis' JSON refuses half a surrogate pair. */
export const wellFormed = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => (typeof part === 'string' ? part.toWellFormed() : part))

export function parseShape(json: string | undefined): Shape {
  const { need, tenant, supervisor } = asObject(parseJson(json ?? ''))
  return { need: parseNeed(need), tenant: asText(tenant), supervisor: supervisor === true }
}

function parseNeed(need: unknown): Need {
  const of = asObject(need)
  return {
    vcpus: asNumber(of.vcpus),
    ramBytes: asNumber(of.ramBytes),
    scratchBytes: asNumber(of.scratchBytes),
    gpus: asNumber(of.gpus),
    preemptible: of.preemptible === true,
  }
}

export function parseContainer(fields: ReadonlyMap<string, string>): ContainerShown {
  const text = (name: string) => fields.get(name) ?? ''
  const number = (name: string) => Number(fields.get(name) ?? 0)
  const { need, tenant } = parseShape(fields.get('shape'))
  return {
    view: parseJson(text('view')) as ContainerView,
    ...{ need, tenant },
    state: text('state') as ContainerState,
    priority: number('priority'),
    version: number('version'),
    queuedMs: number('queuedMs'),
    startedMs: number('startedMs'),
    finishedMs: number('finishedMs'),
    attempts: number('attempts'),
    runs: number('runs'),
    run: number('run'),
    machine: text('machine'),
    instance: text('instance'),
    instanceType: text('instanceType'),
    pricePerHour: number('pricePerHour'),
    exitCode: text('exitCode') === '' ? undefined : number('exitCode'),
    cancelled: text('cancelled'),
    trouble: text('trouble'),
    gatewayAddress: text('gatewayAddress'),
    isOutputDropped: text('logDropped') !== '',
    gatewayPin: text('gatewayPin'),
  }
}

/** In JSON of Redis, numbers beyond 14 digits are texts. */
export function parseMachine(json: string): MachineBrief {
  const { containers, op, ...brief } = asObject(parseJson(json))
  const all = Object.entries(asObject(containers)).map(([uuid, its]) => parseAssigned(uuid, asObject(its)))
  return {
    ...brief,
    op: Number(op),
    containers: all.length > 1 ? all.toSorted(byUuid) : all,
  } as unknown as MachineBrief
}

/** Scripts keep them by uuid, in no order. */
const byUuid = (a: ContainerBrief, b: ContainerBrief): number => (a.uuid < b.uuid ? -1 : 1)

const parseAssigned = (uuid: string, { run, supervisor, need }: JsonObject): ContainerBrief => ({
  ...{ uuid, run: Number(run), supervisor: supervisor === true, need: parseNeed(need) },
})

/** A machine as scripts begin it. */
export function newMachine(
  of: Pick<MachineBrief, 'type' | 'providerType' | 'price' | 'tenant'> & Partial<MachineBrief>,
): Record<string, unknown> {
  const blank = { state: 'creating', sinceMs: 0, createdMs: 0, probedMs: 0, busyMs: 0, version: 0 }
  const texts = { idleBehavior: 'run', broken: '', instance: '', address: '', ending: '', lastContainer: '' }
  return { ...blank, ...texts, containers: {}, ...of }
}

/** @returns undefined for what is not the name of a machine as we write it */
export function machineOp(name: string): number | undefined {
  const op = /^[1-9a-z][0-9a-z]{0,10}$/.test(name) ? Number.parseInt(name, 36) : Number.NaN
  return Number.isSafeInteger(op) ? op : undefined
}
