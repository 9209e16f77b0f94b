/** Keeps images that take long to build, one folder for each version of their recipe. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { withLock } from '../process/lock.ts'
import { cacheFolder } from '../process/paths.ts'
import type { Progress } from '../process/progress.ts'

export interface CachedImage {
  /** Name of the folder, and of the image in messages. */
  readonly name: string
  /** Everything that the image depends on: a change builds it again. */
  readonly recipe: readonly (string | Buffer)[]
  /** Builds the OCI layout `out`; `work` is a folder of its own, which is removed afterwards. */
  build(out: string, work: string): Promise<void>
}

/** The path of the image as an OCI layout; built when the cache lacks this version. */
export async function cachedImage(image: CachedImage, progress: Progress, signal?: AbortSignal): Promise<string> {
  const folder = join(cacheFolder(), 'images')
  const layout = join(folder, `${image.name}-${digestOf(image.recipe)}`)
  if (existsSync(layout)) return layout
  await mkdir(folder, { recursive: true })
  const onWait = () => progress.say(`Waiting for another run that builds the image ${image.name}`)
  await withLock(`image ${layout}`, () => buildOnce(image, layout), { signal, onWait })
  return layout
}

/** Replaces the remains of a killed build. */
async function buildOnce(image: CachedImage, layout: string): Promise<void> {
  if (existsSync(layout)) return
  const work = `${layout}.build`
  await rm(work, { recursive: true, force: true })
  await mkdir(work)
  try {
    await image.build(layout, work)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

function digestOf(recipe: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256').update(process.arch)
  // With its length: otherwise a byte could move from one part to the next unnoticed.
  for (const part of recipe) hash.update(`\0${part.length}\0`).update(part)
  return hash.digest('hex').slice(0, 16)
}
