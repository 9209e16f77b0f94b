/** The client of commands for operators: the management API of a running installation, and what they have in common. */
import { parseArgs } from 'node:util'
import { managementRoot } from '../api/dispatch/parts.ts'
import { asObject, asObjects, asText, parseJson } from '../base/json.ts'
import { ConfigError } from '../config/problems.ts'
import { HttpClient } from '../http/exchange.ts'
import { readText } from '../settings/source.ts'
import { urlOf, urlVariable, wrong } from './address.ts'
import { printable } from './columns.ts'
import { codes, type Output } from './output.ts'

type Environment = Readonly<Record<string, string | undefined>>

export interface ManagementCommand {
  readonly verb: string
  /** What the verb is done to; '' for a list. */
  readonly target: string
  /** '' where the verb takes none. */
  readonly reason: string
  readonly json: boolean
  readonly client: ManagementClient
}

/** A verb of a command, and what it takes. */
export interface Verb {
  /** In usage: the name of its target. Undefined: it has none. */
  readonly target?: string
  readonly reason?: true
}

export const managementTokenFile = 'SKYLAB_MANAGEMENT_TOKEN_FILE'

const options = {
  url: { type: 'string' },
  'token-file': { type: 'string' },
  reason: { type: 'string' },
  json: { type: 'boolean' },
} as const

/**
 * Reads the words behind `skylab instance` or `skylab container`, and the file with the token.
 * @throws {ConfigError} that says what is wrong with the command line, the environment or the file
 */
export async function managementCommand(
  name: string,
  verbs: Readonly<Record<string, Verb>>,
  args: readonly string[],
  env: Environment,
): Promise<ManagementCommand> {
  const { values, positionals } = parsed(name, args)
  const [verb = '', target = '', ...more] = positionals
  const takes = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined
  if (!takes) throw wrong(name, `one of ${Object.keys(verbs).join(', ')} is expected`)
  const own = `${name} ${verb}`
  if (takes.target !== undefined && target === '') throw wrong(own, `${takes.target} is missing`)
  if (more.length > 0 || (takes.target === undefined && target !== ''))
    throw wrong(own, `${JSON.stringify(more.at(-1) ?? target)} is one word too many`)
  const reason = takes.reason ? reasonOf(own, values.reason) : ''
  if (!takes.reason && values.reason !== undefined) throw wrong(own, '--reason is for kill alone')
  const url = urlOf(own, values.url ?? env[urlVariable])
  const file = values['token-file'] ?? env[managementTokenFile]
  if (!file) throw wrong(own, `--token-file is missing, and ${managementTokenFile} too`)
  const client = new ManagementClient(url, await readToken(file))
  return { verb, target, reason, json: values.json ?? false, client }
}

function parsed(name: string, args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    throw wrong(name, (error as Error).message)
  }
}

function reasonOf(command: string, reason: string | undefined): string {
  if (reason === undefined || reason.trim() === '')
    throw wrong(command, '--reason is missing: records and logs have it')
  if (reason.length > 256) throw wrong(command, '--reason has more than 256 characters')
  return reason
}

/** As a replica takes it: one line of characters that a header can have. */
async function readToken(file: string): Promise<string> {
  const token = (await readText(file)).trim()
  if (!/^[\x21-\x7e]{1,512}$/.test(token)) throw new ConfigError(file, ['the file has no token of one line'])
  return token
}

/** The installation did not do it; the message says why, for an operator. */
export class ManagementError extends Error {
  override readonly name = 'ManagementError'
}

const answerMs = 30_000
/** 1,000 entries of the queue have about one. */
const mostBytes = 16 * 1024 * 1024

export class ManagementClient {
  readonly #url: string
  readonly #token: string

  constructor(url: string, token: string) {
    this.#url = url
    this.#token = token
  }

  /** @returns the body of a list. @throws {ManagementError} */
  async read(path: string): Promise<unknown> {
    const { status, body } = await this.#ask('GET', path)
    const found = status === 200 ? parseJson(body) : undefined
    if (found === undefined) throw this.#refusal(status, body)
    return found
  }

  /** @returns whether it is all done: 202 means that the cloud's tag follows. @throws {ManagementError} */
  async change(path: string, parameters: Readonly<Record<string, string>>): Promise<boolean> {
    const { status, body } = await this.#ask('POST', `${path}?${new URLSearchParams(parameters)}`)
    if (status !== 200 && status !== 202) throw this.#refusal(status, body)
    return status === 200
  }

  async #ask(method: 'GET' | 'POST', path: string): Promise<{ readonly status: number; readonly body: string }> {
    // No proxy of the environment gets the token, and a redirect is an answer.
    const http = new HttpClient({ maxConnections: 1, connections: { connectTimeoutMs: answerMs } })
    const url = new URL(`${this.#url}${managementRoot}/${path}`)
    const headers = { Authorization: `Bearer ${this.#token}` }
    const signal = AbortSignal.timeout(answerMs)
    try {
      const { status, body } = await http.exchange({ method, url, headers, maxBytes: mostBytes, signal })
      return { status, body: body.toString() }
    } catch (error) {
      throw new ManagementError(`${this.#url} does not answer: ${whyOf(error)}`)
    } finally {
      await http.close()
    }
  }

  #refusal(status: number, body: string): ManagementError {
    const [{ msg, type } = {}] = asObjects(asObject(parseJson(body)).detail)
    const words = printable(asText(msg)).slice(0, 1000)
    // Of an ingress, or of a process that serves something else.
    if (words === '')
      return new ManagementError(`${this.#url} answers ${status}, and is no installation that serves dispatch`)
    if (status === 404 && asText(type) === 'not_found')
      return new ManagementError(`${this.#url} answers 404: it does not serve dispatch (${words})`)
    return new ManagementError(`${this.#url} answers ${status}: ${words}`)
  }
}

function whyOf(error: unknown): string {
  const { message, name, code } = error as Error & { readonly code?: string }
  if (name === 'TimeoutError') return `nothing within ${answerMs / 1000} s`
  return printable([code, message].filter(Boolean).join(', '))
}

/** Runs a command whose refusals are the installation's. @returns the exit code */
export async function withWords({ err }: Output, work: () => Promise<void>): Promise<number> {
  try {
    await work()
    return codes.ok
  } catch (error) {
    if (!(error instanceof ManagementError)) throw error
    err(`${error.message}\n`)
    return codes.failed
  }
}
