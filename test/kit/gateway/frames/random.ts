/** Choices by a seed. */
import { createHash } from 'node:crypto'
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'

export class Random {
  readonly #generator

  /** @param seed one or more numbers. They are mixed, since the first numbers of near seeds are alike. */
  constructor(...seed: readonly number[]) {
    this.#generator = xoroshiro128plus(createHash('sha256').update(seed.join()).digest().readInt32BE())
  }

  /** In [0, 1). */
  share(): number {
    return uniformFloat64(this.#generator)
  }

  /** From 0 to `max`, both included. */
  upTo(max: number): number {
    return Math.floor(this.share() * (max + 1))
  }

  /** One of a list. */
  of<T>(list: readonly T[]): T {
    return list[this.upTo(list.length - 1)]!
  }

  chance(share: number): boolean {
    return this.share() < share
  }

  bytes(size: number): Buffer {
    return Buffer.from(Array.from({ length: size }, () => this.upTo(255)))
  }
}
