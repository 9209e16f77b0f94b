/** Writes the members of groups into Redis, as a turn of an LNamespace asks for it. */

import type { GroupMembers, MemberWriter } from '../apps/members.ts'
import { Fenced, RetryLater } from '../base/errors.ts'
import type { MemberStore } from '../store/apps/members.ts'

export interface MemberWriterOptions {
  readonly store: Pick<MemberStore, 'put' | 'remove' | 'table'>
  /**
   * Whether there is no such LNamespace any more, as the API server itself says.
   * @throws {RetryLater} when it does not answer
   */
  readonly isGone: (name: string, uid: string, signal?: AbortSignal) => Promise<boolean>
  /** A present entry may belong to nobody: a compare finds out. */
  readonly onDoubt: () => void
}

export function memberWriter({ store, isGone, onDoubt }: MemberWriterOptions): MemberWriter {
  const standingOf = async (group: string) => (await store.table.readSome([group])).entries.get(group)
  const put = async (group: string, members: GroupMembers) => {
    if ((await store.put(group, members)) !== 'older') return
    if ((await standingOf(group))?.uid === members.uid) throw new Fenced('members of a later generation are written')
    onDoubt()
    throw new RetryLater('the members of another LNamespace of this name stand')
  }
  return {
    put,
    withdraw: async (group, members) => {
      if ((await standingOf(group))?.uid === members.uid) await put(group, members)
    },
    gone: async (group, signal) => {
      const standing = await standingOf(group)
      if (standing && (await isGone(group, standing.uid, signal))) await store.remove(group, standing.uid)
    },
  }
}
