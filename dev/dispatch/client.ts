/** What ada and an operator ask over HTTP. */
import { managementRoot, prefixes } from '../../src/api/dispatch/parts.ts'
import type { DispatchSite } from './site.ts'

/** Of a container, as REST shows it. */
export interface SeenContainer {
  readonly uuid: string
  readonly owner: string
  readonly state: 'Queued' | 'Locked' | 'Running' | 'Complete' | 'Cancelled'
  readonly attempt: number
  readonly instance: string
  readonly instance_type: string
  readonly tenant: string
  readonly cost: number
  readonly exit_code: number | null
}

/** Of a machine, as the management API shows it. */
export interface SeenMachine {
  readonly instance: string
  readonly address: string
  readonly idle_behavior: string
}

export interface Wish {
  readonly command: readonly string[]
  readonly vcpus: number
  /** Default: ada. */
  readonly by?: string
}

interface Question {
  /** The replica that is asked. Default: the first one that answers, since one is killed in the story. */
  readonly at?: number | undefined
  readonly body?: object | undefined
}

/** Replicas, who may call them, and the token of operators. */
export type Called = Pick<DispatchSite, 'replicas' | 'users' | 'managementToken'>

export class DispatchClient {
  readonly #site: Called
  readonly #signal: AbortSignal

  constructor(site: Called, signal: AbortSignal) {
    this.#site = site
    this.#signal = signal
  }

  /** @param at the replica that is asked */
  async submit({ command, vcpus, by }: Wish, at: number): Promise<string> {
    const body = { command, runtime_constraints: { vcpus, ram: 2 ** 30 } }
    const { uuid } = (await this.#as(by ?? 'ada', 'POST', `${prefixes.user}/containers`, { at, body })) as {
      uuid: string
    }
    return uuid
  }

  containers = async (): Promise<readonly SeenContainer[]> =>
    ((await this.#asAda('GET', '/containers?limit=100')) as { containers: SeenContainer[] }).containers

  /** One of ada's. */
  find = async (uuid: string): Promise<SeenContainer> =>
    (await this.#asAda('GET', `/containers/${uuid}`)) as SeenContainer

  /** Those of all users, as an administrator sees them. */
  all = async (): Promise<readonly SeenContainer[]> => {
    const found = await this.#as('admin', 'GET', `${prefixes.admin}/containers?limit=100`)
    return (found as { containers: SeenContainer[] }).containers
  }

  output = async (uuid: string): Promise<string> => String(await this.#asAda('GET', `/containers/${uuid}/log`))

  machines = async (): Promise<readonly SeenMachine[]> =>
    ((await this.#asOperator('GET', 'instances')) as { items: SeenMachine[] }).items

  /** @returns the path that was asked, for a person to see */
  async manage(what: 'hold' | 'drain' | 'kill', instance: string): Promise<string> {
    const path = `instances/${what}?instance_id=${instance}`
    await this.#asOperator('POST', path)
    return `POST ${managementRoot}/${path}`
  }

  #asAda(method: string, path: string, { at, body }: Question = {}): Promise<unknown> {
    return this.#as('ada', method, `${prefixes.user}${path}`, { at, body })
  }

  #as(name: string, method: string, path: string, question?: Question): Promise<unknown> {
    return this.#ask(this.#site.users[name]!.token, method, path, question)
  }

  #asOperator(method: string, path: string): Promise<unknown> {
    return this.#ask(this.#site.managementToken, method, `${managementRoot}/${path}`)
  }

  async #ask(token: string, method: string, path: string, { at, body }: Question = {}) {
    const { replicas } = this.#site
    const asked = at === undefined ? replicas : [replicas[at % replicas.length]!]
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const init = { method, headers, signal: this.#signal, ...(body && { body: JSON.stringify(body) }) }
    const answer = await firstOf(
      asked.map(({ url }) => `${url}${path}`),
      init,
    )
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path} is answered ${answer.status}: ${text}`)
    return answer.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text
  }
}

async function firstOf([url, ...others]: readonly string[], init: RequestInit): Promise<Response> {
  try {
    return await fetch(url!, init)
  } catch (error) {
    if (others.length === 0) throw error
    return firstOf(others, init)
  }
}
