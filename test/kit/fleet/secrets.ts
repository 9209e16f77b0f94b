/** Places where a secret could leak: everything that a fleet writes, keeps and answers, as text. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { KubeObject } from '../../../src/base/domain.ts'
import type { Fleet } from './fleet.ts'
import type { UserRecord } from './users.ts'

/** Texts by place. */
export type Places = Readonly<Record<string, string>>

/** Every byte in Redis, uncompressed. */
export async function dumpRedis({ world: { redis } }: Fleet): Promise<string> {
  await redis.config('SET', 'rdbcompression', 'no')
  const keys = await redis.keys('*')
  const dumps = await Promise.all(keys.map(key => redis.dumpBuffer(key)))
  return [...keys, ...dumps.map(each => each?.toString('latin1') ?? '')].join('\n')
}

/** Logs of all lives of the replicas, and the other files that they may write. */
async function logs({ stateDir }: Fleet): Promise<string> {
  const folder = join(stateDir, 'log')
  const names = (await readdir(folder)).filter(name => name.startsWith('replica-'))
  const texts = await Promise.all(names.map(name => readFile(join(folder, name), 'utf8')))
  return texts.flatMap(text => text.split('\n').map(withoutNameAsked)).join('\n')
}

/** An audit line without the name in the path of a refused request: the line must contain that name. */
function withoutNameAsked(line: string): string {
  if (!line.startsWith('{"log":"audit",') || !line.includes('"result":"refused"')) return line
  const { object: _, ...rest } = JSON.parse(line)
  return JSON.stringify(rest)
}

async function metrics({ monitoringUrls }: Fleet): Promise<string> {
  const texts = monitoringUrls.map(async url => (await fetch(`${url}/metrics`).catch(() => null))?.text() ?? '')
  return (await Promise.all(texts)).join('\n')
}

/** All objects of the fleet's namespaces. The data of Secrets is left out, since secrets belong there. */
async function objects({ world }: Fleet, usernames: readonly string[]): Promise<string> {
  const withoutData = (object: KubeObject) => (object.kind === 'Secret' ? { ...object, data: undefined } : object)
  const lists = await Promise.all(usernames.map(username => world.objectsOf(username)))
  return JSON.stringify([await world.namespaces(), lists.flat().map(withoutData)])
}

async function kubernetesEvents({ world, namespacePrefix }: Fleet): Promise<string> {
  const all = await world.kube.list('/api/v1/events')
  return JSON.stringify(all.filter(({ metadata }) => metadata.namespace?.startsWith(`${namespacePrefix}-`)))
}

/** Every place that the fleet has; answers and streams are the test's own. */
export async function allPlaces(fleet: Fleet, users: readonly Pick<UserRecord, 'username'>[]): Promise<Places> {
  const usernames = users.map(({ username }) => username)
  const statuses = await Promise.all(usernames.map(async username => (await fleet.admin.status(username)).body))
  return {
    redis: await dumpRedis(fleet),
    logs: await logs(fleet),
    metrics: await metrics(fleet),
    objects: await objects(fleet, usernames),
    'events of Kubernetes': await kubernetesEvents(fleet),
    statuses: JSON.stringify(statuses),
    audit: await fleet.audit.text(),
  }
}

/** The forms in which a secret may be written: plain, base64 from any of its bytes, hex, and URL-encoded. */
export function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const base64 = [0, 1, 2].map(skip => {
    const whole = bytes.subarray(skip, bytes.length - ((bytes.length - skip) % 3))
    return whole.toString('base64')
  })
  const url = base64.map(text => text.replaceAll('+', '-').replaceAll('/', '_'))
  return [...new Set([secret, encodeURIComponent(secret), bytes.toString('hex'), ...base64, ...url])]
}

/** Where any of them occurs, as `secret in place`. */
export function findSecrets(places: Places, secrets: Readonly<Record<string, string>>): string[] {
  return Object.entries(secrets).flatMap(([name, secret]) =>
    Object.entries(places)
      .filter(([, text]) => formsOf(secret).some(form => text.includes(form)))
      .map(([place]) => `${name} in ${place}`),
  )
}
