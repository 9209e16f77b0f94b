/** Members wait in groups that take turns: a group with very many delays no other. No I/O. */
export class Turns<T> {
  /** The first group is next, with its oldest member. */
  readonly #groups = new Map<string, Map<string, T>>()

  /** The number of all members. */
  get size(): number {
    let size = 0
    for (const members of this.#groups.values()) size += members.size
    return size
  }

  get(group: string, key: string): T | undefined {
    return this.#groups.get(group)?.get(key)
  }

  /** Adds a member at the end of its group. A member that waits already keeps its place. */
  set(group: string, key: string, value: T): void {
    const members = this.#groups.get(group) ?? new Map<string, T>()
    this.#groups.set(group, members.set(key, value))
  }

  /** The member whose turn it is. */
  get first(): T | undefined {
    const [members] = this.#groups.values()
    return members?.values().next().value
  }

  /** Takes the member whose turn it is, and passes the turn to the next group. */
  take(): T | undefined {
    const [turn] = this.#groups
    if (!turn) return undefined
    const [group, members] = turn
    const [key, value] = members.entries().next().value!
    members.delete(key)
    this.#groups.delete(group)
    if (members.size > 0) this.#groups.set(group, members)
    return value
  }

  clear(): void {
    this.#groups.clear()
  }
}
