/** Asks registries for the digests of images that files name by a tag. */
import { readFile, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { DockerRegistry } from '../../src/images/registry/docker.ts'
import { RegistryHttp } from '../../src/images/registry/http.ts'
import { type NamedImage, namedImages, withDigests } from './references.ts'

export interface PinOptions {
  /** Paths of Dockerfiles and YAML files. */
  readonly files: readonly string[]
  /** Called with each image and its digest. */
  say(line: string): void
  /** The folder of Docker's config.json with the passwords. Default: Docker's own. */
  readonly dockerConfig?: string
  readonly signal?: AbortSignal | undefined
}

const timeoutMs = 10_000

/**
 * Writes the digest of each tag beside it; an old digest is replaced by the current one. Writes files only once all
 * digests are known. @throws when a registry does not answer, or has no such tag
 */
export async function pinFiles({ files, say, dockerConfig, signal }: PinOptions): Promise<void> {
  const texts = await Promise.all(
    files.map(async file => {
      const text = await readFile(file, 'utf8')
      return { file, text, images: namedImages(file, text) }
    }),
  )
  const digests = new Map<string, string>()
  const http = new RegistryHttp({ clock: systemClock, timeoutMs })
  try {
    for (const image of texts.flatMap(({ images }) => images)) {
      const name = keyOf(image)
      if (!digests.has(name)) digests.set(name, await digestOf(image, http, dockerConfig, signal))
    }
  } finally {
    await http.close()
  }
  for (const { file, text, images } of texts) {
    await writeFile(
      file,
      withDigests(text, images, image => digests.get(keyOf(image))!),
    )
    for (const image of images) say(`${file}: ${keyOf(image)}@${digests.get(keyOf(image))}`)
    if (images.length === 0) say(`${file}: names no image of a registry by a tag`)
  }
}

const keyOf = ({ registry, repository, tag }: NamedImage) => `${registry}/${repository}:${tag}`

async function digestOf(
  image: NamedImage,
  http: RegistryHttp,
  dockerConfig = process.env.DOCKER_CONFIG || join(homedir(), '.docker'),
  signal?: AbortSignal,
): Promise<string> {
  const { registry, repository, tag } = image
  const credentials = () => readFile(join(dockerConfig, 'config.json'), 'utf8').catch(() => undefined)
  const source = new DockerRegistry({
    ...{ registry, repository, credentials, http, clock: systemClock },
    plainHttp: false,
    maxTags: 1,
  })
  const found = await source.manifestOf(tag, signal).catch(error => {
    throw new Error(`${keyOf(image)}: ${(error as Error).message}`)
  })
  if (found === null) throw new Error(`${keyOf(image)}: the registry has no such image`)
  return found.digest
}
