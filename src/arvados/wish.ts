/** Makes of a container of Arvados what REST would be sent for it, or says why it cannot be run here. Pure. */
import { priorityOf } from '../dispatch/mirrored.ts'
import type { ArvadosRecord } from './answers.ts'

export interface WishRules {
  /** By the hash of an image in Keep: its name in a registry. */
  readonly images: ReadonlyMap<string, string>
  /** Whether containers are run without an image. */
  readonly withoutImage: boolean
}

/** The body of a request to REST, not checked yet. */
export type Body = Readonly<Record<string, unknown>>

const keep = 'Keep, which Skylab does not mount'

/** @returns the body, or a sentence for the container's owner */
export function bodyOf(record: ArvadosRecord, rules: WishRules): { readonly body: Body } | { readonly why: string } {
  const why = obstacleIn(record) ?? obstacleOfImage(record, rules)
  if (why !== undefined) return { why: `Skylab cannot run it: ${why}` }
  const { command, environment, cwd, mounts, runtime_constraints: needs, scheduling_parameters: scheduling } = record
  return {
    body: {
      ...{ command, cwd: cwd || '.', environment: environment ?? {} },
      container_image: rules.withoutImage ? '' : rules.images.get(record.container_image),
      mounts: Object.fromEntries(
        Object.entries(mounts ?? {}).map(([path, { capacity }]) => [path, { kind: 'tmp', capacity: capacity ?? 0 }]),
      ),
      runtime_constraints: {
        ...{ vcpus: Math.max(1, needs.vcpus ?? 1), ram: needs.ram ?? 0 },
        gpus: needs.gpu?.device_count ?? needs.cuda?.device_count ?? 0,
      },
      scheduling_parameters: {
        ...{ preemptible: scheduling?.preemptible ?? false, supervisor: scheduling?.supervisor ?? false },
        max_run_time: scheduling?.max_run_time ?? 0,
      },
      priority: priorityOf(record.priority ?? 0),
      // A run that is lost ends it: Arvados asks for it again by another container.
      container_count_max: 1,
    },
  }
}

function obstacleIn({ mounts, runtime_constraints: needs, service, published_ports: ports }: ArvadosRecord) {
  for (const [path, { kind }] of Object.entries(mounts ?? {})) {
    if (kind === 'collection') return `mounts.${shown(path)}: its data is in ${keep}`
    if (kind !== 'tmp') return `mounts.${shown(path)}.kind: is ${shown(kind)}, and only tmp can be mounted`
  }
  if (needs.API) return 'runtime_constraints.API: it asks for a token of Arvados, which Skylab does not give'
  if (service || Object.keys(ports ?? {}).length > 0) return 'service: its ports would have to be published'
  return undefined
}

function obstacleOfImage({ container_image: image }: ArvadosRecord, { images, withoutImage }: WishRules) {
  if (withoutImage || images.has(image)) return undefined
  return `container_image: ${shown(image)} is an image in Keep, and dispatch.queue.arvados.images has no name for it`
}

/** A text of users, in a sentence of ours. */
const shown = (text: string) => text.replace(/[^\x20-\x7e]/g, '?').slice(0, 100)
