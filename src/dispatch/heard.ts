/** Reads the lines of a machine, without trust: it may lie, or be broken. A line outside the protocol counts as none. Pure. */
import { z } from 'zod'
import { parseJson } from '../base/json.ts'
import { type FromRunner, mostOutputBytes, mostRuns } from './protocol.ts'
import { gatewayPorts, isPin } from './tunnel.ts'

const count = z.int().min(0)
const number = z.int().min(1)
const words = z.string().max(4096)
const uuid = z.string().regex(/^[a-z0-9]{5}-dz642-[a-z0-9]{15}$/)
/** As long as the line lets it be. */
const text = z.string()

const end = z.object({ exitCode: count.optional(), reason: words.optional(), timedOut: z.boolean().optional() })

const spec = z.object({
  command: z.array(text),
  image: text,
  environment: z.record(text, text),
  cwd: text,
  mounts: z.record(text, z.object({ kind: z.literal('tmp'), capacity: count })),
  vcpus: z.number().min(0),
  ramBytes: count,
  maxRunSeconds: count,
})

const gateway = {
  gatewayPort: z.int().min(gatewayPorts.first).max(gatewayPorts.last).optional(),
  gatewayPin: z.string().refine(isPin).optional(),
}

const listed = z.object({
  ...gateway,
  ...{ uuid, run: number, owner: text, spec, seal: text },
  state: z.enum(['starting', 'running', 'ended', 'stale']),
  startedMs: count.optional(),
  finishedMs: count.optional(),
  end: end.optional(),
  seq: count,
})

/** Base64 adds a third. */
const longestBase64 = Math.ceil(mostOutputBytes / 3) * 4

const entry = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('running'), atMs: count, ...gateway }),
  z.object({
    ...{ kind: z.literal('output'), atMs: count, stream: z.enum(['stdout', 'stderr']) },
    base64: z.string().max(longestBase64),
  }),
  z.object({ kind: z.literal('lost'), atMs: count, bytes: count }),
  z.object({ kind: z.literal('ended'), atMs: count, end }),
])

/** Further fields of a newer runner are left out. */
const message = z.discriminatedUnion('type', [
  z.object({ type: z.literal('welcome'), epoch: number, version: words, highestRun: count }),
  z.object({
    ...{ type: z.literal('refused'), id: count.optional(), message: words, highest: count, secret: words },
    why: z.enum(['epoch', 'run', 'busy', 'broken', 'unknown', 'bad']),
    end: z.object({ atMs: count, exitCode: count.optional(), timedOut: z.boolean().optional() }).optional(),
  }),
  z.object({
    ...{ type: z.literal('listed'), id: count, runs: z.array(listed).max(mostRuns) },
    more: z.literal(true).optional(),
    broken: words.optional(),
  }),
  z.object({ type: z.literal('started'), id: count, uuid, run: number }),
  z.object({ type: z.literal('killing'), id: count, uuid, run: number }),
  z.object({ type: z.literal('entry'), uuid, run: number, seq: number, entry }),
  z.object({ type: z.literal('beat'), atMs: count, load: z.number().min(0), broken: words.optional() }),
])

/** @returns undefined for what is no word of the protocol */
export function readHeard(line: string): FromRunner | undefined {
  const { success, data } = message.safeParse(parseJson(line))
  // The types of the schema say `undefined` where the protocol's say absent, and JSON has no undefined.
  return success ? (data as FromRunner) : undefined
}
