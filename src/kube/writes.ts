/** Writes that are in flight, by the agent that sent them: one that gives up must know when none of its own can land any more. */
export class Writes {
  readonly #byAgent = new Map<string, Set<Promise<unknown>>>()

  add(agent: string, write: Promise<unknown>): void {
    const writes = this.#byAgent.get(agent) ?? new Set()
    this.#byAgent.set(agent, writes.add(write))
    const forget = () => {
      writes.delete(write)
      if (writes.size === 0) this.#byAgent.delete(agent)
    }
    write.then(forget, forget)
  }

  /** Resolves when no write of this agent is in flight. Never rejects. */
  async settled(agent: string): Promise<void> {
    for (let writes = this.#byAgent.get(agent); writes?.size; writes = this.#byAgent.get(agent)) {
      await Promise.allSettled(writes)
    }
  }
}
