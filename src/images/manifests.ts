/** The little that is asked of a registry (Docker Registry HTTP API V2, OCI Distribution): the digest of a manifest. */
import { createHash } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { Deadline } from '../kube/deadline.ts'
import { isLoopback } from '../loopback.ts'
import { digestForm } from './reference.ts'

export interface RegistryOptions {
  /** Host, with a port where it is none of the usual ones. */
  readonly registry: string
  readonly repository: string
  readonly clock: Clock
  /** Of one request. */
  readonly timeoutMs: number
}

const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ')

/** Registries must take manifests of this size (OCI Distribution), and hold no larger ones in practice. */
const maxBodyBytes = 4 * 1024 * 1024

/** Statuses by which a registry says that it does not do HEAD. */
const noHead = [405, 501]

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Buffer
}

/** One repository of a registry, asked without credentials. */
export class ManifestClient {
  readonly #options: RegistryOptions
  readonly #origin: string

  constructor(options: RegistryOptions) {
    this.#options = options
    this.#origin = `${isLoopback(options.registry) ? 'http' : 'https'}://${options.registry}`
  }

  /**
   * The digest of the manifest that a tag or a digest names.
   * @returns null when the registry says that there is none
   * @throws {Error} when it does not say: out of reach, too slow, or answering otherwise
   */
  async digestOf(reference: string): Promise<string | null> {
    const path = `/v2/${this.#options.repository}/manifests/${reference}`
    const headers: Record<string, string> = { Accept: manifestTypes }
    let answer = await this.#send('HEAD', this.#origin + path, headers)
    if (answer.status === 401) {
      headers.Authorization = `Bearer ${await this.#anonymousToken(answer.headers)}`
      answer = await this.#send('HEAD', this.#origin + path, headers)
    }
    const told = digestHeader(answer)
    if (told) return told
    if (isSuccess(answer) || noHead.includes(answer.status))
      answer = await this.#send('GET', this.#origin + path, headers)
    if (answer.status === 404) return null
    if (!isSuccess(answer)) throw new Error(`${this.#options.registry} answered ${answer.status}`)
    return digestHeader(answer) ?? `sha256:${createHash('sha256').update(answer.body).digest('hex')}`
  }

  /** Public repositories too are read with a token, which anyone gets. */
  async #anonymousToken(headers: Headers): Promise<string> {
    const challenge = headers.get('WWW-Authenticate') ?? ''
    const parameters = new Map(Array.from(challenge.matchAll(/(\w+)="([^"]*)"/g), match => [match[1], match[2]!]))
    const realm = parameters.get('realm')
    if (!/^bearer /i.test(challenge) || !realm) throw new Error(`${this.#options.registry} asks for credentials`)
    const url = this.#realmUrl(realm)
    const service = parameters.get('service')
    if (service) url.searchParams.set('service', service)
    url.searchParams.set('scope', parameters.get('scope') ?? `repository:${this.#options.repository}:pull`)
    const answer = await this.#send('GET', url.href, {})
    if (!isSuccess(answer)) throw new Error(`${url.host} gave no token but ${answer.status}`)
    const given = JSON.parse(answer.body.toString('utf8'))
    const token = given.token ?? given.access_token
    if (typeof token !== 'string') throw new Error(`${url.host} gave no token`)
    return token
  }

  /** A registry may name whom to ask, but neither in the clear nor, from afar, on this machine. */
  #realmUrl(realm: string): URL {
    const url = new URL(realm)
    const near = isLoopback(this.#options.registry)
    if (isLoopback(url.host) ? near : url.protocol === 'https:') return url
    throw new Error(`${this.#options.registry} sends to ${url.origin} for a token, which is not trusted`)
  }

  async #send(method: 'GET' | 'HEAD', url: string, headers: Record<string, string>): Promise<Answer> {
    const deadline = new Deadline(this.#options.clock, this.#options.timeoutMs)
    try {
      const response = await fetch(url, { method, headers, signal: deadline.signal })
      return { status: response.status, headers: response.headers, body: await readBounded(response) }
    } finally {
      deadline.release()
    }
  }
}

function isSuccess({ status }: Answer): boolean {
  return status >= 200 && status < 300
}

function digestHeader(answer: Answer): string | undefined {
  const digest = answer.headers.get('Docker-Content-Digest') ?? ''
  return isSuccess(answer) && digestForm.test(digest) ? digest : undefined
}

async function readBounded(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    // Leaving the loop ends the exchange.
    if (size > maxBodyBytes) throw new Error(`the answer is larger than ${maxBodyBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
