/** Creates the source of images that the configuration names. */
import type { Clock } from '../../base/clock.ts'
import { type ImageConfig, repositoryOf } from '../../config/images.ts'
import { ArtifactRegistry } from './artifact-registry.ts'
import type { ReadCredentials } from './credential-cache.ts'
import { DockerRegistry } from './docker.ts'
import { GoogleTokens } from './google-tokens.ts'
import { RegistryHttp } from './http.ts'
import type { ImageSource } from './source.ts'

export interface ImageSourceParts {
  readonly images: ImageConfig
  readonly clock: Clock
  /** PEM of `images.caFile`. */
  readonly authorities?: string | undefined
  /**
   * The text of a Docker config.json, for `gar` the JSON key of a service account; undefined when there is none. Read
   * on demand, at most once a minute, and again when the credentials were refused.
   */
  readonly credentials?: ReadCredentials | undefined
}

/** One instance serves a whole process: it keeps connections and tokens. It must be closed. */
export function createImageSource(parts: ImageSourceParts): ImageSource {
  const { images, clock, authorities, credentials = async () => undefined } = parts
  const timeoutMs = images.timeoutSeconds * 1000
  const http = new RegistryHttp({ clock, timeoutMs, authorities })
  const { registry, gar, plainHttp, tokenHosts, maxTags } = images
  if (gar) {
    const tokens = new GoogleTokens({ projectId: gar.projectId, credentials, http, clock, timeoutMs })
    return new ArtifactRegistry({ gar, maxTags, tokens, http })
  }
  return new DockerRegistry({
    registry,
    repository: repositoryOf(images),
    plainHttp,
    tokenHosts,
    maxTags,
    credentials,
    http,
    clock,
  })
}
