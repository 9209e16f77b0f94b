/** Reads what Arvados' API answers, without trust: a record that is not as it must be is left out, and counted. Pure. */
import { z } from 'zod'
import { containerStates } from '../dispatch/container.ts'
import { priorityOf, type Theirs } from '../dispatch/mirrored.ts'

/** A line of the listing. */
export interface Listed extends Theirs {
  /** Arvados' own number, by which containers of one priority have an order too. */
  readonly rank: number
}

/** The fields of each container in listings, and in answers to changes. */
export const listedFields = ['uuid', 'state', 'priority', 'locked_by_uuid'] as const
/** The fields that say how to run one. Arvados' other fields are not asked for. */
export const recordFields = [
  ...[...listedFields, 'command', 'container_image', 'cwd', 'environment', 'mounts'],
  ...['runtime_constraints', 'scheduling_parameters', 'service', 'published_ports'],
] as const

export const containerUuid = z.string().regex(/^[a-z0-9]{5}-dz642-[a-z0-9]{15}$/)
const tokenUuid = z.string().regex(/^[a-z0-9]{5}-gj3su-[a-z0-9]{15}$/)

const listed = z.object({
  uuid: containerUuid,
  state: z.enum(containerStates),
  // Beyond 2^53: no integer that JavaScript has exactly.
  priority: z.number().min(0).nullish(),
  locked_by_uuid: tokenUuid.nullish(),
})

const [mostEntries, longestText] = [1000, 256 * 1024]
const text = z.string().max(longestText)
const amount = z.number().min(0).max(Number.MAX_SAFE_INTEGER).nullish()

const record = z.object({
  ...listed.shape,
  command: z.array(text).max(mostEntries),
  container_image: text,
  cwd: text.nullish(),
  environment: z.record(text, text).nullish(),
  mounts: z.record(text, z.object({ kind: text, capacity: amount })).nullish(),
  runtime_constraints: z.object({
    vcpus: amount,
    ram: amount,
    API: z.boolean().nullish(),
    gpu: z.object({ device_count: amount }).nullish(),
    cuda: z.object({ device_count: amount }).nullish(),
  }),
  scheduling_parameters: z
    .object({
      preemptible: z.boolean().nullish(),
      supervisor: z.boolean().nullish(),
      max_run_time: amount,
    })
    .nullish(),
  service: z.boolean().nullish(),
  published_ports: z.record(text, z.unknown()).nullish(),
})

/** How to run a container, as Arvados has it. */
export type ArvadosRecord = z.infer<typeof record>

const page = z.object({ items: z.array(z.unknown()) })

/** The token's own uuid. */
export const authorization = z.object({ uuid: tokenUuid })

/** @param token the uuid of our token */
export function listedOf(value: unknown, token: string): Listed | undefined {
  const { data } = listed.safeParse(value)
  if (!data) return undefined
  const rank = data.priority ?? 0
  return {
    ...{ uuid: data.uuid, state: data.state, rank, priority: priorityOf(rank) },
    mine: data.locked_by_uuid === token,
  }
}

export interface Page {
  readonly items: readonly Listed[]
  /** Records that are not as they must be. */
  readonly bad: number
}

/** @returns undefined for what is no page, or for one with more items than were asked for */
export function pageOf(value: unknown, token: string, limit: number): Page | undefined {
  const { data } = page.safeParse(value)
  if (!data || data.items.length > limit) return undefined
  const items = data.items.flatMap(item => listedOf(item, token) ?? [])
  return { items, bad: data.items.length - items.length }
}

/** @returns the record, or the field that is not as it must be */
export function recordOf(value: unknown): ArvadosRecord | { readonly problem: string } {
  const { data, error } = record.safeParse(value)
  if (data) return data
  const [issue] = error.issues
  return { problem: `${issue?.path.slice(0, 2).join('.') || 'the record'}: is not as Arvados has it` }
}
