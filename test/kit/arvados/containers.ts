/** The containers of a stand-in for Arvados, with its rules: who may lock, which transitions there are, and what may be written when. */
import { randomBytes } from 'node:crypto'

export type Fields = Record<string, unknown>

export interface Standing extends Fields {
  readonly uuid: string
  state: 'Queued' | 'Locked' | 'Running' | 'Complete' | 'Cancelled'
  priority: number
  locked_by_uuid: string | null
  lock_count: number
  exit_code: number | null
  started_at: string | null
  finished_at: string | null
  runtime_status: Fields
}

/** With the status of its answer. */
export class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const transitions: Readonly<Record<string, readonly string[]>> = {
  Queued: ['Locked', 'Cancelled'],
  Locked: ['Queued', 'Running', 'Cancelled'],
  Running: ['Complete', 'Cancelled'],
  Complete: ['Cancelled'],
  Cancelled: [],
}
const progress = [
  'progress',
  'runtime_status',
  'subrequests_cost',
  'cost',
  'log',
  'output',
  'output_properties',
  'exit_code',
]

/** `validate_change` of Arvados: what may change, by the state that it has then and the one before. */
function permitted(state: string, was: string): readonly string[] {
  if (state === 'Locked') return ['state', 'priority', 'runtime_status', 'log', 'lock_count']
  if (state === 'Queued') return ['state', 'priority']
  if (state === 'Running')
    return ['state', 'priority', 'gateway_address', ...progress, ...(was === state ? [] : ['started_at'])]
  if (state === 'Complete') return was === 'Running' ? ['state', 'finished_at', ...progress] : ['state']
  if (was === 'Running') return ['state', 'finished_at', ...progress]
  return was === 'Cancelled' ? ['state'] : ['state', 'finished_at', 'log', 'runtime_status', 'cost']
}

export const newUuid = (kind: 'dz642' | 'gj3su'): string => {
  const letters = [...randomBytes(15)].map(byte => (byte % 36).toString(36))
  return `zzzzz-${kind}-${letters.join('')}`
}

export class ArvadosContainers {
  readonly all = new Map<string, Standing>()
  /** By uuid: its states, one after the other. */
  readonly histories = new Map<string, string[]>()
  readonly maxDispatchAttempts = 5

  add(fields: Fields = {}): Standing {
    const uuid = newUuid('dz642')
    const standing: Standing = {
      ...{ uuid, state: 'Queued', priority: 500, locked_by_uuid: null, lock_count: 0, exit_code: null },
      ...{ started_at: null, finished_at: null, runtime_status: {}, command: ['true'], cwd: '.', environment: {} },
      ...{ container_image: 'd41d8cd98f00b204e9800998ecf8427e+0', mounts: {}, output_path: '/out' },
      ...{ runtime_constraints: { vcpus: 1, ram: 2 ** 30, API: false }, scheduling_parameters: {}, service: false },
      ...{ published_ports: {}, log: null, output: null, cost: 0, created_at: new Date().toISOString() },
      ...fields,
    }
    this.all.set(uuid, standing)
    this.histories.set(uuid, [standing.state])
    return standing
  }

  find(uuid: string): Standing {
    const found = this.all.get(uuid)
    if (!found) throw new Refusal(404, 'Path not found')
    return found
  }

  lock(uuid: string, token: string): Standing {
    const found = this.find(uuid)
    if (found.state !== 'Queued') throw new Refusal(422, `#<LockFailedError: cannot lock when ${found.state}>`)
    if (found.priority <= 0) throw new Refusal(422, '#<LockFailedError: cannot lock when priority<=0>')
    found.lock_count += 1
    return this.#enter(found, 'Locked', token)
  }

  unlock(uuid: string, token: string): Standing {
    const found = this.find(uuid)
    if (found.state !== 'Locked')
      throw new Refusal(422, `#<InvalidStateTransitionError: cannot unlock when ${found.state}>`)
    if (found.locked_by_uuid !== token) throw new Refusal(403, 'locked by a different token')
    if (found.lock_count < this.maxDispatchAttempts) return this.#enter(found, 'Queued', token)
    found.runtime_status = { error: "Cancelled after exceeding 'Containers.MaxDispatchAttempts'" }
    return this.#enter(found, 'Cancelled', token)
  }

  update(uuid: string, changes: Fields, token: string): Standing {
    const found = this.find(uuid)
    const was = found.state
    const state = (changes.state as Standing['state'] | undefined) ?? was
    if (state !== was && !transitions[was]!.includes(state))
      throw new Refusal(422, `State change from ${was} to ${state} is not permitted`)
    const isOthers = found.locked_by_uuid !== null && found.locked_by_uuid !== token
    const mayChange = permitted(state, was).filter(name => !isOthers || !progress.includes(name))
    const same = (name: string) => JSON.stringify(changes[name]) === JSON.stringify(found[name])
    const bad = Object.keys(changes).filter(name => !same(name) && !mayChange.includes(name))
    if (bad.length > 0) throw new Refusal(422, `${bad.join(', ')} cannot be modified in state '${was}' (-> ${state})`)
    const { state: _, ...others } = changes
    Object.assign(found, others)
    return state === was ? found : this.#enter(found, state, token)
  }

  /** As its user does, or as time does. */
  #enter(found: Standing, state: Standing['state'], token: string): Standing {
    found.state = state
    found.locked_by_uuid = state === 'Locked' || state === 'Running' ? (found.locked_by_uuid ?? token) : null
    if (state === 'Queued') found.runtime_status = {}
    if (state === 'Running') found.started_at ??= new Date().toISOString()
    if (state === 'Complete' || state === 'Cancelled') found.finished_at ??= new Date().toISOString()
    this.histories.get(found.uuid)!.push(state)
    return found
  }
}
