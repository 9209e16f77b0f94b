/** Keeps a table of the members of LNamespaces whole, for those who have no rights in the cluster and read it from Redis. */
import { TableKeeper } from '../appwork/table-keeper.ts'
import type { Leases } from '../leases/leases.ts'
import type { MemberStore, Members } from '../store/apps/members.ts'
import type { Basics } from './basics.ts'

export interface MemberTableParts {
  readonly basics: Pick<Basics, 'clock' | 'log'>
  readonly leases: Pick<Leases, 'acquireTask'>
  readonly lease: string
  readonly store: MemberStore
  /** By name. Undefined while not all LNamespaces are known. */
  readonly wanted: () => ReadonlyMap<string, Members> | undefined
  /** Whether there is this LNamespace, although it has no members now. */
  readonly keeps: (name: string, uid: string) => boolean
  /** Whether it is gone, as the API server itself says. */
  readonly isGone: (name: string, uid: string, signal?: AbortSignal) => Promise<boolean>
}

export function memberKeeper({ basics, leases, lease, store, wanted, keeps, isGone }: MemberTableParts) {
  const { clock, log } = basics
  return new TableKeeper<Members>({
    ...{ clock, log, leases, lease },
    table: {
      name: 'members',
      wanted,
      read: async () => {
        const { members: entries, complete } = await store.read()
        return { complete, entries }
      },
      version: () => store.table.version(),
      put: (name, members) => store.put(name, members),
      remove: (name, uid) => store.remove(name, uid),
      complete: () => store.complete(),
      keeps: (name, { uid }) => keeps(name, uid),
      isGone: (name, { uid }, signal) => isGone(name, uid, signal),
    },
  })
}
