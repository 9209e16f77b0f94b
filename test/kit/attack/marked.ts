/** Values that must be nowhere, and the search for them in all that a cluster, Redis and processes keep. */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import type { AdminKube } from '../cluster/kube.ts'
import { snapshotRedis } from '../past/snapshot.ts'

/** A text, and where it is. */
export type Place = readonly [where: string, text: string]

export class Marked {
  /** By what it is, in every form in which it could stand somewhere. */
  readonly #forms = new Map<string, readonly string[]>()

  /** Makes a value that is nowhere else. */
  plant(what: string): string {
    const value = `marked${randomBytes(12).toString('hex')}`
    this.add(what, value)
    return value
  }

  /** @param value as somebody uses it */
  add(what: string, value: string): void {
    if (value.length < 8) throw new Error(`${what}: too short to be told from other text`)
    this.#forms.set(what, formsOf(value))
  }

  /** Each value that is at one of the places, with the place. */
  foundAt(places: Iterable<Place>): string[] {
    const found: string[] = []
    for (const [where, text] of places) {
      for (const [what, forms] of this.#forms) {
        if (forms.some(form => text.includes(form))) found.push(`${what} is in ${where}`)
      }
    }
    return found
  }
}

/** In clear, in an address, in hexadecimal digits, and in base64 at each distance from the beginning of a group. */
function formsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value)
  const shifted = [0, 1, 2].flatMap(shift => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64')
    // Characters at both ends depend on the neighbours.
    const own = text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6))
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')]
  })
  return [
    ...new Set([
      value,
      encodeURIComponent(value),
      JSON.stringify(value).slice(1, -1),
      bytes.toString('hex'),
      ...shifted,
    ]),
  ]
}

/** All keys of Redis, with their values. */
export async function placesInRedis(redis: Redis): Promise<Place[]> {
  const { entries } = await snapshotRedis(redis)
  return Object.entries(entries).map(([key, entry]) => [`Redis, ${key}`, `${key} ${textOf(entry)}`])
}

/** JSON within JSON escapes its quotes, and so nothing of a value without them. */
const textOf = (value: unknown): string => JSON.stringify(value)

/** All texts in Redis, down to the strings within JSON and the words of keys. */
export async function wordsInRedis(redis: Redis): Promise<readonly string[]> {
  const words = new Set<string>()
  const take = (value: unknown): void => {
    if (typeof value === 'object' && value !== null) {
      for (const [name, each] of Object.entries(value)) {
        take(name)
        take(each)
      }
      return
    }
    const text = String(value)
    if (words.has(text)) return
    words.add(text)
    for (const part of text.split(/[:{}@,\s]+/)) words.add(part)
    const json = parsed(text)
    if (typeof json === 'object') take(json)
  }
  take((await snapshotRedis(redis)).entries)
  return [...words]
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

interface Resource {
  readonly name: string
  readonly namespaced: boolean
  readonly verbs: readonly string[]
}

/** All objects of these namespaces that an administrator can list, of every kind that the cluster serves. */
export async function placesInCluster(kube: AdminKube, namespaces: readonly string[]): Promise<Place[]> {
  const get = async (path: string) => (await kube.request('GET', path)).body
  const { groups } = await get('/apis')
  const roots: string[] = [
    '/api/v1',
    ...groups.map(
      (group: { preferredVersion: { groupVersion: string } }) => `/apis/${group.preferredVersion.groupVersion}`,
    ),
  ]
  const paths = await Promise.all(
    roots.map(async root => {
      const { resources = [] } = (await get(root)) as { resources?: readonly Resource[] }
      const listed = resources.filter(({ namespaced, verbs }) => namespaced && verbs.includes('list'))
      return listed.flatMap(({ name }) => namespaces.map(namespace => `${root}/namespaces/${namespace}/${name}`))
    }),
  )
  const places = await Promise.all(
    paths.flat().map(async path => {
      const { items } = await get(path)
      return items.map((item: { metadata: { name: string } }): Place => [`${path}/${item.metadata.name}`, textOf(item)])
    }),
  )
  return places.flat()
}

/** The logs of all processes of a fleet. */
export const placesInLogs = (stateDir: string): Place[] =>
  readdirSync(join(stateDir, 'log')).map(file => [`the log ${file}`, readFileSync(join(stateDir, 'log', file), 'utf8')])

export async function placesInMetrics(replicas: readonly { name: string; monitoringUrl: string }[]): Promise<Place[]> {
  return Promise.all(
    replicas.map(async ({ name, monitoringUrl }): Promise<Place> => {
      return [`the metrics of ${name}`, await (await fetch(`${monitoringUrl}/metrics`)).text()]
    }),
  )
}
