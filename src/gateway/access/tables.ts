/** What gateways know of apps and groups, by the tables that controllers of apps write. */
import type { AppRoute } from '../../base/app-route.ts'
import type { MemberStore, Members } from '../../store/apps/members.ts'
import type { RouteStore } from '../../store/apps/routes.ts'
import { type FollowedOptions, FollowedTable } from './followed.ts'

type Options<T extends AppRoute | Members> = Omit<FollowedOptions<T>, 'what' | 'table'>

/** Where the requests of each app go. */
export class RouteTable extends FollowedTable<AppRoute> {
  constructor(store: Pick<RouteStore, 'table'>, options: Options<AppRoute>) {
    super({ ...options, what: 'routes', table: store.table })
  }
}

/** How people of the identity provider are called in the cluster: `tenants.rest`. */
export interface ClusterNames {
  readonly usernameTemplate?: string | undefined
  readonly groupTemplate?: string | undefined
}

/** A person, by names of the identity provider. */
export interface Person {
  readonly user: string
  readonly groups: readonly string[]
}

/** Who is in each group. */
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
    const { usernameTemplate, groupTemplate } = this.#names
    const name = filled(usernameTemplate, '{username}', user)
    if (name !== undefined && members.users.includes(name)) return true
    return groups.some(each => {
      const called = filled(groupTemplate, '{group}', each)
      return called !== undefined && members.groups.includes(called)
    })
  }
}

/** Not `replaceAll`, which gives `$` a meaning. @returns undefined if nobody can be called so */
function filled(template: string | undefined, mark: string, name: string): string | undefined {
  const full = template?.split(mark).join(name)
  return full?.startsWith('system:') ? undefined : full
}
