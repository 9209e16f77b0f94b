/** Images of Python packages on Debian, made from Debian and PyPI only, and kept from run to run. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from '../process/command.ts'
import type { Progress } from '../process/progress.ts'
import { cachedImage } from './cached.ts'
import { type ImageConfig, writeLayout } from './layout.ts'
import { bootstrap, installPython, prune, SUITE } from './rootfs.ts'

export interface PythonImage {
  /** Name of its folder in the cache. */
  readonly name: string
  /** Its name in messages. */
  readonly title: string
  /** Path of a list of packages, with versions and checksums (`npm run lock`). */
  readonly requirements: string
  /** Debian's packages beside its minimal base. */
  readonly packages: readonly string[]
  readonly config: ImageConfig
}

const compression = 'zstd'

/** The folder of the image as an OCI layout; built when the cache lacks one of these packages and this configuration. */
export async function pythonImage(image: PythonImage, progress: Progress, signal?: AbortSignal): Promise<string> {
  const { name, requirements, config } = image
  const code = ['layout.ts', 'rootfs.ts'].map(file => readFile(new URL(file, import.meta.url)))
  const recipe = [JSON.stringify({ config, compression }), ...(await Promise.all([readFile(requirements), ...code]))]
  const build = (out: string, work: string) =>
    buildImage({ ...image, out, rootfs: join(work, 'rootfs') }, progress, signal)
  return cachedImage({ name, recipe, build }, progress, signal)
}

interface Build extends PythonImage {
  readonly out: string
  readonly rootfs: string
}

async function buildImage(build: Build, progress: Progress, signal?: AbortSignal): Promise<void> {
  const { title, requirements, packages, config, out, rootfs, name } = build
  const mirror = await debianMirror()
  await progress.part(`${title} image: Debian ${SUITE}`, () => bootstrap({ rootfs, mirror, packages, signal }))
  await progress.part(`${title} image: Python packages`, () => installPython({ rootfs, requirements, signal }))
  await progress.part(`${title} image: layer`, async () => {
    await prune(rootfs)
    await writeLayout({ rootfs, out, name, config, compression })
  })
}

/** The Debian archive that this machine's apt uses. */
export async function debianMirror(): Promise<string> {
  const fields = ['--format', '$(CODENAME) $(REPO_URI)', 'Created-By: Packages', 'Label: Debian']
  return chooseMirror(await run('apt-get', ['indextargets', ...fields]))
}

/** Prefers the address that serves the image's suite, else takes any: an archive has all suites. Lines are `suite address`. */
export function chooseMirror(lines: string): string {
  const targets = lines.split('\n').map(line => line.split(' '))
  const chosen =
    targets.find(([suite, address]) => suite === SUITE && address) ?? targets.find(([, address]) => address)
  if (!chosen?.[1]) throw new Error('apt knows no Debian archive: images need one (see apt-get update)')
  return chosen[1]
}
