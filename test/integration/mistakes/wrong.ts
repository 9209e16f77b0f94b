/** A replica with one wrong connection, beside a working fleet, and the places where the mistake shows. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import type { ConfigInput } from '../../../dev/stack/config.ts'
import { Replica } from '../../../dev/stack/replicas.ts'
import { folderVariable } from '../../kit/failpoints/arms.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { programWithout } from '../../kit/program/controlled.ts'
import type { Wrong } from './makers.ts'
import type { Row } from './rows.ts'

export interface Line {
  readonly level: string
  readonly msg: string
  readonly reason?: string
}

/** A token in the issuers' form: to check it, its key must be fetched. */
const anyToken = [{ alg: 'RS256', kid: 'some' }, { sub: 'u1' }]
  .map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
  .concat('signature')
  .join('.')

const usual = (config: ConfigInput, { images, identity, redis, kubernetes }: ConfigInput): ConfigInput => ({
  ...config,
  ...(images && { images }),
  ...(identity && { identity }),
  redis: { ...config.redis, ...redis } as ConfigInput['redis'],
  kubernetes: { ...config.kubernetes, ...kubernetes },
})

export class WrongReplica {
  readonly #replica: Replica
  readonly #fleet: Fleet
  readonly #dependency: Row['dependency']

  private constructor(replica: Replica, fleet: Fleet, dependency: Row['dependency']) {
    this.#replica = replica
    this.#fleet = fleet
    this.#dependency = dependency
  }

  static async start(fleet: Fleet, name: string, dependency: Row['dependency'], { config, env }: Wrong) {
    const text = readFileSync(join(fleet.stateDir, 'replica-1.yaml'), 'utf8')
    const configFile = join(fleet.stateDir, `${name}.yaml`)
    const changed = usual(parse(text, { version: '1.1' }), config)
    writeFileSync(configFile, stringify(changed, { version: '1.1' }), { mode: 0o600 })
    const program = await programWithout('')
    const replica = await Replica.start({
      ...{ name, stateDir: fleet.stateDir, configFile, restart: false },
      ...program,
      env: { ...program.env, [folderVariable]: fleet.failpoints.folder, ...env },
    })
    return new WrongReplica(replica, fleet, dependency)
  }

  /** The answer of `/readyz` in one line. */
  async readyz(): Promise<string> {
    const response = await fetch(`${this.#replica.monitoringUrl}/readyz`).catch(() => null)
    if (!response) return ''
    const body = (await response.json()) as { detail?: { msg: string }[]; troubles?: string[] }
    const said = body.detail?.map(({ msg }) => msg) ?? body.troubles ?? []
    return [response.status, ...said].join(' | ')
  }

  /** The API's answer, with its status. */
  async answer(): Promise<string> {
    const what = this.#dependency === 'registry' ? 'images' : 'user-status'
    const url = `${this.#replica.url}/nublado/spawner/v1/${what}`
    const response = await fetch(url, { headers: this.#headers() })
    const body = (await response.json()) as { detail?: { msg: string }[] }
    return `${response.status} ${body.detail?.map(({ msg }) => msg).join(' | ') ?? ''}`
  }

  log(): readonly Line[] {
    const text = this.text()
    return text.split('\n').flatMap(line => (line.startsWith('{') ? [JSON.parse(line) as Line] : []))
  }

  /** Its whole log. */
  text(): string {
    return readFileSync(join(this.#fleet.stateDir, 'log', `${this.#replica.name}.log`), 'utf8')
  }

  /** The log as operators see it by default, without levels for developers. */
  shown(): string {
    const lines = this.text().split('\n')
    return lines.filter(line => !/"level":"(debug|trace)"/.test(line)).join('\n')
  }

  stop(): Promise<void> {
    return this.#replica.stop(0)
  }

  /** Headers of every identity provider: each reads its own. */
  #headers(): Record<string, string> {
    const { token } = this.#fleet.admin
    const authorization = this.#dependency === 'identity provider' ? anyToken : token
    return {
      authorization: `Bearer ${authorization}`,
      'x-auth-request-user': 'u1',
      'x-auth-request-token': 'some-token',
    }
  }
}
