/**
 * The kind *members*: who is in a group, as its LNamespace says, for the table that gateways read. It has no objects. Pure.
 * A grant of sudo with an end makes nobody a member: the table is fenced by the generation of the LNamespace alone.
 */
import { canonical } from '../base/canonical.ts'
import { asNumber, asObject, asObjects, asText, asTimeMs } from '../base/json.ts'
import type { AppsConfig } from '../config/apps.ts'
import type { Change } from '../kube/picture.ts'
import type { Sight } from '../reconcile/sight.ts'
import type { Effect, Fact, Kind, Path, Poke } from '../reconcile/types.ts'
import { tenantParent } from '../tenants/words.ts'

export interface GroupMembers {
  readonly uid: string
  readonly generation: number
  readonly createdMs: number
  /** Names of the cluster, in order. */
  readonly users: readonly string[]
  readonly groups: readonly string[]
}

export interface MemberWriter {
  /**
   * @throws {RetryLater} when Redis does not answer, or another LNamespace's entry is in the way
   * @throws {Fenced} when an entry of a later generation is written
   */
  put(group: string, members: GroupMembers): Promise<void>
  /** Writes an entry of nobody, where this LNamespace has one already. Throws as `put`. */
  withdraw(group: string, members: GroupMembers): Promise<void>
  /** The LNamespace is gone. */
  gone(group: string, signal: AbortSignal): Promise<void>
}

/** As it is watched. Nothing of it is ever written. */
export const tenantWatch = {
  ...tenantParent,
  paths: [
    ['spec', 'users'],
    ['spec', 'sudoers'],
    ['status', 'namespaceUID'],
    ['status', 'conditions'],
    ['metadata', 'generation'],
    ['metadata', 'creationTimestamp'],
  ] as readonly Path[],
}

/** Whether an LNamespace has its namespace, as the controller of tenants says: before that it is no group. */
export const hasNamespace = ({ deleting, owned }: Fact): boolean =>
  !deleting && asText(asObject(owned.status).namespaceUID) !== ''

/** Whether it is a group of its name, with members. */
export const isServed = (fact: Fact): boolean =>
  hasNamespace(fact) &&
  asObjects(asObject(fact.owned.status).conditions).some(({ type, status }) => type === 'Accepted' && status === 'True')

/**
 * Whether an LNamespace of this name may say who is in the group of this name. Anybody may make one: a group of the configuration
 * is another's, unless it has that very namespace.
 */
export const mayBeGroup = (name: string, groups: AppsConfig['groups']): boolean =>
  !Object.hasOwn(groups, name) || groups[name]!.namespace === name

const mostNames = 1_000
const longest = 256

/** Users and sudoers; nobody, while it is not accepted. An account of a program logs in nowhere. */
export function membersOf(fact: Fact): GroupMembers {
  const { uid, owned } = fact
  const { users, sudoers } = isServed(fact) ? asObject(owned.spec) : {}
  const { generation, creationTimestamp } = asObject(owned.metadata)
  const subjects = [...asObjects(users), ...asObjects(sudoers)]
  const named = (kind: string) =>
    [...new Set(subjects.filter(each => each.kind === kind).map(({ name }) => asText(name)))]
      .filter(name => name !== '' && name.length <= longest)
      .sort()
      .slice(0, mostNames)
  return {
    ...{ uid, generation: asNumber(generation), createdMs: asTimeMs(creationTimestamp) },
    ...{ users: named('User'), groups: named('Group') },
  }
}

export function memberKind(sight: Sight, groups: AppsConfig['groups'], writer: MemberWriter): Kind<Sight> {
  return {
    name: 'members',
    parent: tenantParent,
    sources: [{ ...tenantWatch, watch: sight, keysOf }],
    world: () => sight,
    desired: name => {
      const of = sight.get(name)
      if (!of || !mayBeGroup(name, groups)) return { do: 'leave' }
      return { do: 'hold', parent: of, objects: [], standing: [], effects: [writing(of, writer)] }
    },
    report: () => undefined,
    shareOf: name => name,
    onGone: (name, signal) => writer.gone(name, signal),
  }
}

function writing(of: Fact, writer: MemberWriter): Effect {
  const [group, members, isGroup] = [of.ref.name, membersOf(of), hasNamespace(of)]
  return {
    name: 'members',
    mark: canonical([members, isGroup]),
    apply: () => (isGroup ? writer.put(group, members) : writer.withdraw(group, members)),
  }
}

/** A membership that ends is effective at once. */
function* keysOf(change: Change<Fact>): Generator<Poke> {
  const previous = change.type === 'put' ? change.previous : undefined
  const text = (fact: Fact) => canonical([membersOf(fact), hasNamespace(fact)])
  if (previous && text(previous) === text(change.value)) return
  yield { key: change.name, urgent: true }
}
