/** The apps and groups that a gateway knows, by the tables that controllers of apps write. */
import type { AppRoute } from '../../base/app-route.ts'
import { type ClusterNames, lists, type MemberStore, type Members, type Person } from '../../store/apps/members.ts'
import type { RouteStore } from '../../store/apps/routes.ts'
import { type FollowedOptions, FollowedTable } from './followed.ts'

type Options<T extends AppRoute | Members> = Omit<FollowedOptions<T>, 'what' | 'table'>

/** Where the requests of each app go. */
export class RouteTable extends FollowedTable<AppRoute> {
  constructor(store: Pick<RouteStore, 'table'>, options: Options<AppRoute>) {
    super({ ...options, what: 'routes', table: store.table })
  }
}

/** The members of each group. */
export class MemberTable extends FollowedTable<Members> {
  readonly #names: ClusterNames

  constructor(store: Pick<MemberStore, 'table'>, names: ClusterNames, options: Options<Members>) {
    super({ ...options, what: 'members', table: store.table })
    this.#names = names
  }

  /**
   * Whether a person is in a group: as its LNamespace says, where it has one, else as the identity provider does.
   * @returns 'unknown' while it is not known whether there is one
   */
  isMember({ user, groups }: Person, group: string): boolean | 'unknown' {
    const members = this.get(group)
    if (members === 'unknown') return 'unknown'
    if (!members) return groups.includes(group)
    return lists(members, { user, groups }, this.#names)
  }
}
