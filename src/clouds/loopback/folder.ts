/**
 * Machines as folders, which all replicas of a computer share: `<cloud>/<id>/`. A folder appears whole, by one rename. Each tag
 * is a file, so that two writers of different tags lose nothing.
 */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseJson } from '../../base/json.ts'
import { endGroups } from '../../runner/engines/end-groups.ts'
import { machineId } from '../../runner/state/machine-id.ts'
import type { Instance, InstanceState, Intent } from '../driver.ts'
import { endProcesses, isRunning } from './processes.ts'

/** Files of a machine's folder. */
export const files = {
  /** The request to `create`, without secrets. */
  about: 'about.json',
  initCommand: 'init',
  authorizedKey: 'authorized_key',
  tags: 'tags',
  /** The identity of its process, written by itself: only one process can be. */
  process: 'process',
  address: 'address',
  secret: 'secret',
  log: 'log',
  /** The state folder of its runner. */
  runner: 'lib',
  /** It was to be destroyed: no process of it begins any more. */
  stopping: 'stopping',
  gone: 'gone',
} as const

/** Tombstones answer for ids that are asked for again. */
const keptGoneMs = 24 * 3_600_000

export class Machines {
  readonly folder: string

  constructor(folder: string) {
    this.folder = folder
  }

  pathOf(id: string, file = ''): string {
    return join(this.folder, id, file)
  }

  /** The same for a token that comes again. */
  idOf(set: string, token: string): string {
    return `lo-${createHash('sha256')
      .update(JSON.stringify([set, token]))
      .digest('hex')
      .slice(0, 17)}`
  }

  isId = (id: string): boolean => /^lo-[0-9a-f]{17}$/.test(id)

  /** @returns whether it is new */
  async make(id: string, intent: Intent): Promise<boolean> {
    const part = join(this.folder, `.part-${randomBytes(6).toString('hex')}`)
    await mkdir(join(part, files.tags), { recursive: true, mode: 0o700 })
    try {
      const about = { providerType: intent.providerType, image: intent.image }
      await writeFile(join(part, files.about), JSON.stringify(about))
      await writeFile(join(part, files.initCommand), intent.initCommand, { mode: 0o600 })
      await writeFile(join(part, files.authorizedKey), intent.publicKey)
      await writeTags(part, intent.tags)
      await rename(part, this.pathOf(id))
      return true
    } catch (error) {
      if (!existsSync(this.pathOf(id))) throw error
      return false
    } finally {
      await rm(part, { recursive: true, force: true })
    }
  }

  /** Undefined for an id that nobody made, or whose tombstone is gone. A machine whose process died is swept. */
  async read(id: string): Promise<Instance | undefined> {
    if (!this.isId(id)) return undefined
    const [about, tags] = await Promise.all([readText(this.pathOf(id, files.about)), readTags(this.pathOf(id))])
    if (about === undefined || tags === undefined) return undefined
    const state = await this.#stateOf(id)
    const address = state === 'running' ? await readText(this.pathOf(id, files.address)) : undefined
    return { id, address, providerType: String(Object(parseJson(about)).providerType), tags, state }
  }

  async all(): Promise<Instance[]> {
    const names = await readdir(this.folder).catch(() => [])
    const found = await Promise.all(names.map(id => this.read(id)))
    return found.filter(each => each !== undefined)
  }

  setTags = (id: string, tags: Readonly<Record<string, string>>): Promise<void> => writeTags(this.pathOf(id), tags)

  /** Ends when no process of it is left. Its files are removed; a tombstone stays. */
  async end(id: string): Promise<void> {
    await writeFile(this.pathOf(id, files.stopping), '')
    await endProcesses(this.pathOf(id))
    await this.#endGroups(id)
    const stays: readonly string[] = [files.about, files.tags, files.stopping]
    const others = (await readdir(this.pathOf(id))).filter(name => !stays.includes(name))
    await Promise.all(others.map(name => rm(this.pathOf(id, name), { recursive: true, force: true })))
    await writeFile(this.pathOf(id, files.gone), '')
  }

  /** Removes old tombstones. */
  async prune(nowMs: number): Promise<void> {
    for (const id of (await readdir(this.folder).catch(() => [])).filter(this.isId)) {
      const gone = await stat(this.pathOf(id, files.gone)).catch(() => undefined)
      if (gone && nowMs - gone.mtimeMs > keptGoneMs) await rm(this.pathOf(id), { recursive: true, force: true })
    }
  }

  /** Ends what has hidden from `endProcesses`: its supervisor was killed, and it has left its session. */
  async #endGroups(id: string): Promise<void> {
    let runner: string
    try {
      runner = machineId(this.pathOf(id, files.runner))
    } catch {
      // It has not begun, or another replica ends it too and was faster.
      return
    }
    await endGroups(runner)
  }

  async #stateOf(id: string): Promise<InstanceState> {
    if (existsSync(this.pathOf(id, files.gone))) return 'gone'
    if (existsSync(this.pathOf(id, files.stopping))) return 'stopping'
    const identity = await readText(this.pathOf(id, files.process))
    if (!identity) return 'pending'
    if (isRunning(identity)) return existsSync(this.pathOf(id, files.address)) ? 'running' : 'pending'
    try {
      await this.end(id)
      return 'gone'
    } catch {
      // The caller that destroys it gets the error.
      return 'stopping'
    }
  }
}

const readText = (path: string): Promise<string | undefined> => readFile(path, 'utf8').catch(() => undefined)

/** Names of tags may be longer than names of files, and have any character. */
const tagFile = (folder: string, name: string) =>
  join(folder, files.tags, createHash('sha256').update(name).digest('hex').slice(0, 32))

async function writeTags(folder: string, tags: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(tags)) await replace(tagFile(folder, name), JSON.stringify([name, value]))
}

async function readTags(folder: string): Promise<Record<string, string> | undefined> {
  const names = await readdir(join(folder, files.tags)).catch(() => undefined)
  const texts = await Promise.all(
    (names ?? []).filter(name => !name.includes('.')).map(name => readText(join(folder, files.tags, name))),
  )
  return names && Object.fromEntries(texts.map(text => parseJson(text ?? '') as [string, string]))
}

/** Readers see the old content or the new one. */
export async function replace(path: string, content: string): Promise<void> {
  const part = `${path}.${randomBytes(6).toString('hex')}`
  await writeFile(part, content, { mode: 0o600 })
  await rename(part, path)
}
