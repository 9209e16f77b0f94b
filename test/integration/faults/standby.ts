/** A second Redis that follows the fleet's own until it replaces it, as under Sentinel. */
import { Redis as Client } from 'ioredis'
import { type Redis, startRedis } from '../../../dev/redis/redis.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { TcpProxy } from '../../kit/network/proxy.ts'

export class Standby {
  readonly redis: Redis
  readonly client: Client
  readonly #fleet: Fleet
  readonly #link: TcpProxy

  private constructor(fleet: Fleet, redis: Redis, link: TcpProxy) {
    this.#fleet = fleet
    this.redis = redis
    this.#link = link
    this.client = new Client(redis.url).on('error', () => {})
  }

  /** Has all data of the fleet's Redis, and gets every change. */
  static async of(fleet: Fleet): Promise<Standby> {
    const link = await TcpProxy.before(fleet.redis.url)
    await link.open()
    // Always a process: it follows through a proxy on loopback, which containers cannot reach.
    const standby = new Standby(fleet, await startRedis({ stateDir: fleet.stateDir }), link)
    await standby.client.call('REPLICAOF', '127.0.0.1', link.port)
    await standby.caughtUp()
    return standby
  }

  /** Resolves when it has all present data of the first Redis. */
  async caughtUp(): Promise<void> {
    const written = offsetOf(await this.#fleet.world.redis.info('replication'))
    await eventually('replication', async () => {
      const info = await this.client.info('replication')
      return info.includes('master_link_status:up') && offsetOf(info) >= written
    })
  }

  /** Cuts it off: it gets no further changes of the first. */
  lag(): void {
    this.#link.silence()
  }

  /**
   * Makes it the fleet's Redis. Replicas switch one after another, so some still write to the first, which ends after
   * the last switch. Returns for each replica the ms from its turn to its first answer.
   */
  async promote(delaysMs: readonly number[]): Promise<number[]> {
    const first = this.#fleet.redis
    await this.#link.shut()
    await this.client.call('REPLICAOF', 'NO', 'ONE')
    this.#fleet.redis = this.redis
    const switched = await Promise.all(delaysMs.map((delayMs, index) => this.#lead(index, delayMs)))
    await first.stop()
    return switched
  }

  async stop(): Promise<void> {
    this.client.disconnect()
    await Promise.all([this.#link.shut(), this.redis.stop()])
  }

  async #lead(index: number, delayMs: number): Promise<number> {
    await new Promise(resolve => setTimeout(resolve, delayMs))
    const turnedMs = performance.now()
    this.#fleet.proxies(index).redis.turnTo(this.redis.url)
    const admin = this.#fleet.admin.at(this.#fleet.url(index))
    await eventually('an answer after the switch', async () => (await admin.labs()).status === 200)
    return Math.round(performance.now() - turnedMs)
  }
}

/** Offset of its written history; for a follower, of its received history. */
const offsetOf = (info: string) => Number(/^(?:slave_repl_offset|master_repl_offset):(\d+)/m.exec(info)?.[1])
