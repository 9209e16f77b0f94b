/** The promises of the lease scripts, as a small model of one user's lab with three owners. */

export type Outcome = 'running' | 'failed' | 'gone'

/** The next command of `owner`. `late` marks a write of an earlier seq, or a beat that has changed since. */
export type Command =
  | { readonly do: 'acquire'; readonly owner: number }
  | { readonly do: 'claim'; readonly owner: number }
  | { readonly do: 'extend'; readonly owner: number }
  | { readonly do: 'release'; readonly owner: number }
  | { readonly do: 'giveBack'; readonly owner: number }
  | { readonly do: 'commit'; readonly owner: number; readonly late: boolean; readonly acting: boolean }
  | { readonly do: 'finish'; readonly owner: number; readonly late: boolean; readonly outcome: Outcome }
  | { readonly do: 'free'; readonly late: boolean }
  | { readonly do: 'create' }
  | { readonly do: 'delete' }
  | { readonly do: 'expire' }

export const ownerCount = 3
/** An hour ahead: above every op from Redis' clock, and no further than a script accepts. */
export const firstOp = (Date.now() + 3_600_000) * 1000

interface Owner {
  token: string
  op: number
  seq: number
}

/** The fields of the record that leases concern. */
export interface LeaseRecord {
  op: number
  status: 'pending' | 'running' | 'terminating' | 'failed'
  active: boolean
  token: string
  seq: number
  claims: number
  attempts: number
}

export class LeaseModel {
  record: LeaseRecord | null = null
  lease = ''
  waiting = false
  owned = false
  readonly owners: readonly Owner[] = Array.from({ length: ownerCount }, (_, i) => ({ token: `t${i}`, op: -1, seq: 0 }))
  #op = firstOp
  #acting = true
  #endedBy = ''
  #tombstone = 0
  #tokens = 0

  /** Applies one command. @returns the answer that the script must give */
  answer(command: Command): unknown {
    if (command.do === 'create') return this.#create()
    if (command.do === 'delete') return this.#delete()
    if (command.do === 'free') return this.#free(command.late)
    if (command.do === 'expire') {
      this.lease = ''
      return undefined
    }
    const by = this.owners[command.owner]!
    if (command.do === 'acquire') return this.#acquire(by)
    if (command.do === 'claim') return this.#claim(by)
    if (command.do === 'extend') return this.lease === by.token && this.#isOf(by)
    if (command.do === 'commit') return this.#commit(by, command.late, command.acting)
    if (command.do === 'finish') return this.#finish(by, command.late, command.outcome)
    return this.#release(by, command.do === 'giveBack')
  }

  /** The token that an owner uses for its next attempt on the lease. */
  nextToken(owner: number): string {
    return `t${owner}-${this.#tokens + 1}`
  }

  #isOf(by: Owner): boolean {
    return this.record !== null && this.record.op === by.op && this.record.token === by.token
  }

  #create() {
    if (this.record && this.record.status !== 'failed') return 'exists'
    return this.#begin('pending')
  }

  #delete() {
    if (!this.record) return 'none'
    return this.record.status === 'terminating' ? 'joined' : this.#begin('terminating')
  }

  #begin(status: LeaseRecord['status']) {
    this.#op += 1
    this.#acting = true
    this.record = { op: this.#op, status, active: true, token: '', seq: 1, claims: 0, attempts: 0 }
    this.#tombstone = 0
    this.waiting = true
    return `accepted ${this.#op}`
  }

  #acquire(by: Owner): boolean {
    this.#tokens += 1
    if (this.lease !== '') return false
    by.token = `${by.token.split('-')[0]}-${this.#tokens}`
    this.lease = by.token
    return true
  }

  #claim(by: Owner): boolean {
    if (this.lease !== by.token) return false
    if (!this.record?.active) {
      this.waiting = this.owned = false
      return false
    }
    if (this.record.token !== by.token) {
      this.record.claims += 1
      this.record.attempts += this.#acting ? 1 : 0
    }
    Object.assign(by, { op: this.record.op, seq: this.record.seq })
    this.record.token = by.token
    this.waiting = false
    this.owned = true
    return true
  }

  #commit(by: Owner, late: boolean, acting: boolean): boolean {
    const seq = by.seq - (late ? 1 : 0)
    if (!this.record?.active || !this.#isOf(by)) return false
    if (this.record.seq !== seq && this.record.seq !== seq + 1) return false
    this.#acting = acting
    this.record.seq = by.seq = seq + 1
    return true
  }

  #finish(by: Owner, late: boolean, outcome: Outcome): boolean {
    const { record } = this
    if (!record?.active || !this.#isOf(by)) {
      return record ? record.op === by.op && this.#endedBy === `${by.op} ${by.token}` : this.#tombstone === by.op
    }
    if (record.seq !== by.seq - (late ? 1 : 0)) return false
    this.waiting = this.owned = false
    if (this.lease === by.token) this.lease = ''
    this.#endedBy = `${by.op} ${by.token}`
    if (outcome === 'gone') this.#tombstone = by.op
    this.record =
      outcome === 'gone' ? null : { ...record, status: outcome, active: false, token: '', seq: record.seq + 1 }
    return true
  }

  #release(by: Owner, unclaimed: boolean): undefined {
    const { record } = this
    const held = this.lease === by.token
    const mine = record?.active && record.token === by.token && (unclaimed || record.op === by.op)
    if (held) this.lease = ''
    if (held && (mine || !unclaimed)) this.owned = false
    if (!mine) return
    record.token = ''
    record.attempts -= this.#acting && record.attempts > 0 ? 1 : 0
    this.waiting = true
  }

  /** A watcher of beats frees the lease. It cannot know of a lease that was taken but not claimed with. */
  #free(late: boolean): boolean {
    if (!this.owned || late) return false
    if (this.lease !== '' && this.lease !== this.record?.token) return false
    this.lease = ''
    return true
  }
}
