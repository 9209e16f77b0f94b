/** Images that take long to make are kept from run to run, one folder for each version of their recipe. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { withLock } from '../process/lock.ts'
import { cacheFolder } from '../process/paths.ts'
import type { Progress } from '../process/progress.ts'

export interface CachedImage {
  /** Names the folder, and the image in what is told of it. */
  readonly name: string
  /** All that it depends on: after a change to any of it the image is made anew. */
  readonly recipe: readonly (string | Buffer)[]
  /** Makes the OCI layout `out`; `work` is a folder for it alone, which is removed afterwards. */
  build(out: string, work: string): Promise<void>
}

/** The path of the image as an OCI layout; built when this version of it is not in the cache. */
export async function cachedImage(image: CachedImage, progress: Progress, signal?: AbortSignal): Promise<string> {
  const folder = join(cacheFolder(), 'images')
  const layout = join(folder, `${image.name}-${digestOf(image.recipe)}`)
  if (existsSync(layout)) return layout
  await mkdir(folder, { recursive: true })
  const onWait = () => progress.say(`Waiting for another run that builds the image ${image.name}`)
  await withLock(`image ${layout}`, () => buildOnce(image, layout), { signal, onWait })
  return layout
}

/** What a killed build left is replaced. */
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
  // With its length, or a byte could move from one part to the next unseen.
  for (const part of recipe) hash.update(`\0${part.length}\0`).update(part)
  return hash.digest('hex').slice(0, 16)
}
