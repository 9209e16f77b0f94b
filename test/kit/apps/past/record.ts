/** Records a past of apps: brings apps into every state that a release can leave, logs somebody in, and reads all of it. */
import { appWatches } from '../../../../src/apps/watches.ts'
import { appParent } from '../../../../src/apps/words.ts'
import type { KubeObject } from '../../../../src/base/domain.ts'
import { collectionPath } from '../../../../src/kube/kinds.ts'
import { hashOf } from '../../../../src/store/apps/ids.ts'
import { LoginStore } from '../../../../src/store/apps/logins.ts'
import { MemberStore } from '../../../../src/store/apps/members.ts'
import { SessionStore } from '../../../../src/store/apps/sessions.ts'
import { eventually } from '../../cluster/world.ts'
import { snapshotRedis } from '../../past/snapshot.ts'
import { AppFleet } from '../fleet.ts'
import { openAsGateway } from '../gateway-user.ts'
import { type AppWish, kwokType } from '../objects.ts'
import type { AppsPast } from './files.ts'

interface Recorded extends AppWish {
  readonly phase: string
}

const annotated = (annotations: Readonly<Record<string, string>>) => ({ metadata: { annotations } })
const env = [{ name: 'PLAIN', value: 'anyone may read this' }]

/** Named after what is special of them. */
const wishes: Readonly<Record<string, Recorded>> = {
  usual: { phase: 'Ready' },
  open: { phase: 'Ready', scope: 'public' },
  platform: { phase: 'Ready', scope: 'primehub' },
  stopped: { phase: 'Stopped', stop: true },
  wrong: { phase: 'Error', instanceType: 'huge' },
  alone: { phase: 'Ready', ...annotated({ 'user.skylab/strategy': 'recreate' }) },
  passing: {
    ...{ phase: 'Ready' },
    ...annotated({ 'user.skylab/pass-host': 'true', 'user.skylab/pass-authorization': 'true' }),
  },
  variables: { phase: 'Ready', container: { env, workingDir: '/tmp' } },
}
const hourMs = 3_600_000
const weekMs = 168 * hourMs

/** @param name of the release */
export async function recordApps(name: string): Promise<AppsPast> {
  const fleet = await AppFleet.start({ group: { a: { quota: { pods: 20 } } } })
  try {
    for (const [id, { phase: _, ...wish }] of Object.entries(wishes)) await fleet.make(id, wish)
    for (const [id, { phase }] of Object.entries(wishes)) await fleet.phase(id, phase)
    const routed = async () => {
      const { complete, routes } = await fleet.routes()
      return complete && Object.entries(wishes).every(([id, { phase }]) => routes.get(id)?.phase === phase)
    }
    await eventually('all routes', routed)
    await Promise.all(fleet.replicas.map(replica => replica.stop(0)))
    const objects = await objectsOf(fleet)
    const visitor = await visit(fleet, objects)
    const { atMs, entries } = await snapshotRedis(fleet.redisClient)
    return {
      ...{ name, recordedAtMs: atMs, installation: fleet.name },
      apps: {
        groups: { [fleet.of('a')]: { namespace: fleet.of('a'), quota: { pods: 20 } } },
        ...{ instanceTypes: { small: kwokType }, publicUrl: 'https://platform.example.org' },
      },
      ...{ objects, redis: entries, visitor },
    }
  } finally {
    await fleet.stop()
  }
}

/** Fields of `metadata` that say something about an app. */
const kept = ['name', 'namespace', 'uid', 'generation', 'creationTimestamp', 'labels', 'annotations', 'ownerReferences']

async function objectsOf(fleet: AppFleet): Promise<readonly KubeObject[]> {
  const lists = await Promise.all(
    Object.values(appWatches).map(async watch => {
      const { apiVersion, kind } = watch
      const selector = 'selector' in watch ? watch.selector : undefined
      const items = await fleet.kube.list(collectionPath(apiVersion, kind, fleet.of('a')), selector)
      return items.map(({ metadata, ...rest }): KubeObject => {
        const fields = Object.entries(metadata).filter(([field]) => kept.includes(field))
        return { ...rest, apiVersion, kind, metadata: Object.fromEntries(fields) as KubeObject['metadata'] }
      })
    }),
  )
  return lists.flat()
}

/** Somebody logs in, opens an app, and asks that another one be started; a group has an LNamespace. */
async function visit(fleet: AppFleet, objects: readonly KubeObject[]): Promise<AppsPast['visitor']> {
  const { keys } = fleet
  const uidOf = (id: string) =>
    objects.find(({ kind, metadata }) => kind === appParent.kind && metadata.name === id)!.metadata.uid!
  const connection = await openAsGateway(fleet.redis.programUrl, fleet.name, { withoutEval: false })
  try {
    const [logins, user, appId] = [new LoginStore(connection, keys), 'ada', 'usual']
    const made = await logins.create({ user, groups: [fleet.of('a')], begun: await logins.begin(), lifeMs: weekMs })
    if (made === 'revoked') throw new Error('the login was revoked')
    const loginHash = hashOf(made.id)!
    const claim = { appId, appUid: uidOf(appId), loginHash, user, lifeMs: weekMs }
    const session = await new SessionStore(connection, keys).create(claim)
    if (session === undefined) throw new Error('there is no session')
    const members = { uid: uidOf('stopped'), generation: 3, createdMs: 1, users: ['oidc:ada'], groups: ['oidc:team'] }
    await new MemberStore(connection, keys).put('team', members)
    await fleet.ask({ id: 'stopped', uid: uidOf('stopped'), generation: 1, user })
    return { user, appId, login: made.id, session }
  } finally {
    connection.close()
  }
}
