/**
 * The names of all keys. Keys of one installation share a hash tag, so one script covers record, stream, index and bell,
 * also on a Redis Cluster.
 *
 * | key | type | expires | what |
 * |---|---|---|---|
 * | last | string | never | the last issued op |
 * | generation | hash | never | identity of the Redis whose data were compared, and the last op found in it |
 * | mark | string | yes | the compare in progress |
 * | doubt | string | yes | why no compare can be trusted now: Redis' clock or the counter is wrong |
 * | hold | string | yes | operations up to this op are not claimed yet |
 * | sealing | string | yes | id of the key that plans are sealed with; kept by replicas that have it first |
 * | waiting | sorted set | empty when idle | users whose operation has no owner, by op |
 * | owned | sorted set | empty when idle | users whose operation is owned, by the lease's end |
 * | deadlines | sorted set | empty when idle | users with an operation, by its deadline |
 * | index | sorted set | with the labs | users by status: 1 pending, 2 running, 3 terminating, 4 failed |
 * | provisioned | set | never | users for whom the init container has succeeded once; if a user is lost, it runs again |
 * | bell | stream | a day after the last ring | announces changes to every replica |
 * | audit | sorted set | a week after the last note | notes of missing audit lines, by the time when other replicas may take them |
 * | prepulled | hash | never | by image: UIDs of the nodes onto which it was pulled |
 * | prepull-failures | hash | never | by image: why it could not be pulled, onto which nodes, and when to try again |
 * | lease-of-prepull | string | yes | token of the replica that prepulls |
 * | lease-of-muster | string | yes | token of the replica that makes the labs that are checked agree with those that run |
 * | lease-of-cpu | string | yes | token of the replica that lists what pods use |
 * | lab:USER | hash | with the lab | the record |
 * | events:USER | stream | 10 minutes after the lab | the events of the user's operations, ids `<op>-<seq>` |
 * | tombstone:USER | string | yes | op of the last deletion that ended |
 * | lease:USER | string | yes | token of the owner |
 * | nonce:NONCE | string | yes | the op that an acceptance drew, for a command sent again |
 * | KIND-epoch | string | never | the last epoch, for a kind whose claims draw one |
 * | idempotency:USER:HASH | string | yes | op and body's hash of an accepted create |
 * | catalogue:SCOPE | hash | yes | the images of one configuration: version, body, when read, when last asked for |
 * | digests:SCOPE | hash | yes | the last known digests of tags |
 * | lease-of-refresh:SCOPE | string | yes | token of the replica that reads the registry |
 * | lease-of:KIND:KEY | string | yes | token of the replica that writes the objects of a custom resource |
 * | lock-of:NAME | string | yes | token of the replica that has a lock which custom resources share |
 * | due:KIND | sorted set | a week after the last check | workloads by the time of their next check; the score is its taker's token |
 * | due-slow:KIND | sorted set | a week after the last check | the same, for those that did not answer last time |
 * | activity:KIND:ID | hash | a week after the last write | what is known of a workload's activity |
 * | activity-floor | hash | a week after the last check | identity of the Redis that idle times were measured in, and since when |
 * | activity-flushed:KIND | hash | a week after the last flush | by gateway: until when it has reported the traffic that it saw |
 * | activity-states:KIND | sorted set | a week after the last check | workloads by what their last check found |
 * | activity-stops:KIND | sorted set | 2 minutes after the last stop | the stops of the last minute |
 * | activity-events | stream | a week after the last event | the events of all workloads, ids `<series>-<n>` |
 * | app:UID | hash | a week after the last change | version and phase of an app that were added to its stream last |
 * | app-told:UID | sorted set | a week after the last change | keys of the other events in its stream, by Redis' time |
 * | app-events:UID | stream | a week after the last change | the events of an app, ids `<series>-<n>` |
 * | app-routes | hash | never | by app: where its requests go, as JSON; and marks, which begin with a colon |
 * | app-members | hash | never | by group: its members, as JSON; and the same marks |
 * | tenant-members | hash | never | by tenant: its members, as JSON, for those who run containers; and the same marks |
 * | app-removed:UID | string | an hour after the removal | this app or LNamespace is gone: no late writer brings its entry back |
 * | app-intents | hash | 10 minutes after the last one | by app: a member wants it to be started |
 * | bills | hash | a month after the last one | bills of tenants that wait to be sent, by `UID:GENERATION`; and marks, which begin with a colon |
 * | bill-marks | hash | a month after the last bill | by LNamespace: its last bill, and those that wait |
 * | bell-of-apps | stream | a day after the last ring | announces changes to gateways and to those who serve apps |
 * | gw:login:HASH | hash | with the login | who has logged in; HASH is the SHA-256 of the id in the cookie |
 * | gw:logins-of:USER | sorted set | with the last of them | the logins of a user, by their end |
 * | gw:session:HASH | hash | with the session | the app and the login of a session of an app |
 * | gw:asking:HASH | string | within seconds | token of the gateway that asks the identity source about a login |
 * | gw:code:HASH | hash | a minute | what a code leads to at the host of an app; HASH is its SHA-256 |
 * | gw:used:HASH | string | 10 minutes later | a way back from the identity source that was used |
 * | gw:epoch | string | never | the epoch of the last revocation |
 * | gw:revoked:WHAT | string | with the last login that it concerns | logins and sessions of earlier epochs are void |
 * | dispatch-generation | hash | never | as `generation`, for containers and machines |
 * | dispatch-hold | string | yes | as `hold`, for machines |
 * | dispatch-mark | string | yes | the compare with the cloud in progress |
 * | dispatch-doubt | string | yes | why no compare with the cloud can be trusted now |
 * | dispatch-last | string | never | the last epoch of a machine's owner, or run of a container |
 * | dispatch-found | string | until every machine was asked | the last op that the compare found: containers up to it are not assigned |
 * | dispatch-unasked | hash | empty when idle | by machine that was not asked what it runs, since the compare: since when |
 * | dispatch-statuses | hash | with the groups | by group: why its containers wait |
 * | dispatch-throttle | string | never | what the cloud's errors taught, after its version |
 * | dispatch-calls | string | yes | when the next call of the cloud may be made |
 * | lease-of-dispatch | string | yes | token of the replica that compares with the cloud |
 * | lease-of-schedule | string | yes | token of the replica that schedules |
 * | dispatch-watched | string | a minute after the last pass, or more | since when somebody has scheduled without a gap |
 * | lease-of-sweep | string | yes | token of the replica that sweeps the cloud |
 * | lease-of-amounts | string | yes | token of the replica that writes what containers cost |
 * | lease-of-arvados | string | yes | token of the replica that mirrors Arvados' queue |
 * | arvados-mirrored | hash | never | by uuid in Arvados: the uuid of its container here, and ` back` while it is given back |
 * | dispatch-overload | string | yes | when Arvados could not keep up with what runs |
 * | instance-briefs | hash | never | by machine: what the scheduler and people see of it, as JSON |
 * | instance-ids | hash | never | by the cloud's id: the machine |
 * | container:UUID | hash | by `dispatch.ended` | the record of a container |
 * | container-log:UUID | stream | by `dispatch.ended` | the beginning of its output, by its place |
 * | container-log-tail:UUID | stream | by `dispatch.ended` | the end of its output |
 * | containers | sorted set | with the containers | all uuids, which sort by age |
 * | containers-of:OWNER | sorted set | with the containers | the same, of an owner |
 * | containers-in:STATE | sorted set | with the containers | the same, of a state |
 * | containers-ended | sorted set | with the containers | ended ones, by the time of their end |
 * | container-outputs | sorted set | with the outputs | ended ones that have output, by the time of their end |
 * | containers-kept | hash | never | bytes of what waits or runs; of all outputs and of ended containers, and how much of these may be kept |
 * | container-groups | hash | with the containers | by group: what its containers need |
 * | container-group-ids | sorted set | with the containers | the groups, to be read in parts |
 * | container-group:ID | sorted set | with the containers | those that wait in a group, by priority |
 * | container-briefs | hash | with the containers | by uuid: what the scheduler reads of one that waits |
 * | container-sent | hash | with the containers | by uuid: the machine that was asked to run it |
 * | container-count | hash | with the containers | by owner: how many wait |
 * | container-bytes | hash | with the containers | by owner: bytes of those that wait or run |
 *
 * Every other kind of subjects has the same keys, under names that begin with the kind: `KIND:NAME` is a record, `KIND-waiting`
 * a sorted set, `KIND-events:NAME` a stream, `KIND-nonce:NONCE` an op. So no kind meets the members of another. A tenant has no
 * operations: `tenant:NAME` records what was added to its stream, and both expire a day after the last change.
 */
import { labKind } from '../base/subject.ts'
import { AppKeys } from './app-keys.ts'
import { DispatchKeys } from './dispatch-keys.ts'
import { Family } from './family.ts'

/** The keys of the installation and, as a family, those of labs. */
export class Keys extends Family {
  readonly last: string
  readonly mark: string
  readonly doubt: string
  readonly sealing: string
  readonly provisioned: string
  readonly bell: string
  readonly compareLease: string
  readonly audit: string
  readonly prepulled: string
  readonly prepullFailures: string
  readonly prepullLease: string
  readonly musterLease: string
  readonly cpuLease: string
  readonly activityFloor: string
  readonly activityEvents: string
  readonly bills: string
  readonly billMarks: string
  readonly tenantMembers: string
  /** Of apps and gateways. */
  readonly apps: AppKeys
  /** Of containers and machines. */
  readonly dispatch: DispatchKeys
  readonly #tag: string

  constructor(prefix: string) {
    const tag = `{${prefix}}:`
    super(tag, labKind)
    this.#tag = tag
    this.last = `${tag}last`
    this.mark = `${tag}mark`
    this.doubt = `${tag}doubt`
    this.sealing = `${tag}sealing`
    this.provisioned = `${tag}provisioned`
    this.bell = `${tag}bell`
    this.compareLease = `${tag}lease-of-compare`
    this.audit = `${tag}audit`
    this.prepulled = `${tag}prepulled`
    this.prepullFailures = `${tag}prepull-failures`
    this.prepullLease = `${tag}lease-of-prepull`
    this.musterLease = `${tag}lease-of-muster`
    this.cpuLease = `${tag}lease-of-cpu`
    this.activityFloor = `${tag}activity-floor`
    this.activityEvents = `${tag}activity-events`
    this.bills = `${tag}bills`
    this.billMarks = `${tag}bill-marks`
    this.tenantMembers = `${tag}tenant-members`
    this.apps = new AppKeys(tag)
    this.dispatch = new DispatchKeys(tag, kind => new Family(tag, kind))
  }

  /** @throws if a kind cannot have this name */
  family(kind: string): Family {
    return kind === labKind ? this : new Family(this.#tag, kind)
  }

  catalogue(scope: string): string {
    return `${this.#tag}catalogue:${scope}`
  }
  digests(scope: string): string {
    return `${this.#tag}digests:${scope}`
  }
  refreshLease(scope: string): string {
    return `${this.#tag}lease-of-refresh:${scope}`
  }
  /** @param name kind and key of a custom resource */
  reconcileLease(name: string): string {
    return `${this.#tag}lease-of:${name}`
  }
  /** @param name a lock that several custom resources share */
  reconcileLock(name: string): string {
    return `${this.#tag}lock-of:${name}`
  }

  due(kind: string): string {
    return `${this.#tag}due:${kind}`
  }
  dueSlow(kind: string): string {
    return `${this.#tag}due-slow:${kind}`
  }
  activity(kind: string, id: string): string {
    return `${this.#tag}activity:${kind}:${id}`
  }
  activityFlushed(kind: string): string {
    return `${this.#tag}activity-flushed:${kind}`
  }
  activityStates(kind: string): string {
    return `${this.#tag}activity-states:${kind}`
  }
  activityStops(kind: string): string {
    return `${this.#tag}activity-stops:${kind}`
  }

  /** The keys of the events in the stream of an app. */
  appTold(uid: string): string {
    return `${this.#tag}app-told:${uid}`
  }
}
