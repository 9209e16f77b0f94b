/** For tests: apps on an API server in memory, and what REST does for them. */

import { groupNameOf } from '../../apps/spec.ts'
import { templateParent, templateWatch } from '../../apps/template.ts'
import { appParent } from '../../apps/words.ts'
import { canonical } from '../../base/canonical.ts'
import { systemClock } from '../../base/clock.ts'
import type { Identity, KubeObject } from '../../base/domain.ts'
import { asNumber } from '../../base/json.ts'
import type { KubeClient, ObjectRef } from '../../kube/client.ts'
import type { PodEventFacts, PodFacts } from '../../kube/pods/facts.ts'
import { FakeApi } from '../../reconcile/testing/api.ts'
import type { Fact } from '../../reconcile/types.ts'
import { AppCreator } from '../creator.ts'
import { AppSecrets } from '../secrets.ts'
import { AppService, type AppServiceOptions, type Asker } from '../service.ts'
import type { AppSights } from '../sights.ts'
import { TemplateService } from '../templates.ts'
import { AppWriter } from '../writer.ts'

const paths = [
  ['spec'],
  ['status'],
  ['metadata', 'generation'],
  ['metadata', 'creationTimestamp'],
  ['metadata', 'annotations'],
]
/** Of groups. */
const namespaces: Readonly<Record<string, string>> = { physics: 'physics', others: 'others', chem: 'chem' }
const patterns = ['*TOKEN*', '*_KEY']

export interface Declared {
  readonly namespace?: string
  readonly spec?: object
  readonly status?: object
  readonly annotations?: Readonly<Record<string, string>>
  /** Seconds of its age, from an hour before. */
  readonly bornAt?: number
  readonly uid?: string
}

export class Site {
  readonly api = new FakeApi()
  readonly written: string[] = []
  readonly pods: PodFacts[] = []
  readonly events: PodEventFacts[] = []
  readonly #listeners = new Set<(app: Fact) => void>()
  readonly sights: AppSights
  readonly service: AppService
  readonly templates: TemplateService
  /** Bodies of patches of PhApplications, as sent. */
  readonly patches: object[] = []
  /** Called before an object is read; what it throws is the answer. */
  onRead: (ref: ObjectRef) => unknown = () => {}

  constructor(options: Partial<AppServiceOptions> = {}) {
    const apps = this.api.sight(appParent.apiVersion, appParent.kind, paths, systemClock)
    this.sights = {
      apps,
      named: apps.index(({ ref }) => [ref.name]),
      groupOf: app => (app.ref.namespace === groupNameOf(app) ? groupNameOf(app) : undefined),
      podsOf: () => this.pods,
      podEventsOf: () => this.events,
      onPodEvents: listener => {
        this.#listeners.add(listener)
        return () => this.#listeners.delete(listener)
      },
    }
    const kube = this.#client()
    const ofTemplates = this.api.sight(templateParent.apiVersion, templateParent.kind, templateWatch.paths, systemClock)
    const common = {
      writer: new AppWriter({ apps, kube, onWritten: app => void this.written.push(app.ref.name) }),
      secrets: new AppSecrets(kube),
      isMember:
        options.isMember ?? (({ groups }: Asker['caller'], group: string) => groups.some(({ name }) => name === group)),
      ...{ sights: this.sights, instanceTypes: { small: {}, large: {} }, secretPatterns: patterns },
    }
    this.templates = new TemplateService({
      ...{ namespace: 'hub', watch: ofTemplates, secretPatterns: patterns, isSynced: () => true },
      writer: new AppWriter({ what: 'template', namespace: 'hub', apps: ofTemplates, kube, onWritten: () => {} }),
    })
    this.service = new AppService({
      ...common,
      creator: new AppCreator({ ...common, templates: this.templates, namespaceOf: group => namespaces[group] }),
      isSynced: () => true,
      openEvents: async () => null,
      ...options,
    })
  }

  /** Writes a PhApplication as somebody else. */
  declare(
    id: string,
    { namespace = 'physics', spec, status, annotations, bornAt = 0, uid }: Declared = {},
  ): KubeObject {
    const known = this.object(id, namespace)
    const generation = known?.metadata.generation
    return this.api.put({
      ...appParent,
      metadata: {
        ...{ name: id, namespace, generation: asNumber(generation) + 1 },
        creationTimestamp: new Date(bornAt * 1000).toISOString(),
        ...(annotations && { annotations }),
        ...(uid !== undefined && { uid }),
      },
      spec: { groupName: 'physics', podTemplate: { spec: { containers: [{ name: 'main', image: 'i:1' }] } }, ...spec },
      ...(status && { status }),
    })
  }

  /** Writes a PhAppTemplate as somebody else. */
  template(id: string, spec: object, namespace = 'hub'): KubeObject {
    const metadata = { name: id, namespace, generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' }
    return this.api.put({ ...templateParent, metadata, spec })
  }

  object(id: string, namespace = 'physics'): KubeObject | undefined {
    return [...this.api.objects.values()].find(
      ({ kind, metadata }) => kind === appParent.kind && metadata.name === id && metadata.namespace === namespace,
    )
  }

  secrets(id: string): readonly KubeObject[] {
    return [...this.api.objects.values()].filter(
      ({ kind, metadata }) => kind === 'Secret' && metadata.name.startsWith(`app-${id}-env-`),
    )
  }

  tellPods(app: Fact): void {
    for (const listener of this.#listeners) listener(app)
  }

  /** As the API server: another spec is another generation, and `stringData` becomes `data`. */
  #client(): KubeClient {
    const { client, objects } = this.api
    return {
      ...client,
      get: async (ref: ObjectRef) => {
        this.onRead(ref)
        return client.get(ref)
      },
      list: async (
        ...[apiVersion, kind, project, { namespace, fieldSelector } = {}]: Parameters<typeof KubeClient.prototype.list>
      ) => {
        const matches = (object: KubeObject) =>
          object.apiVersion === apiVersion &&
          object.kind === kind &&
          fieldSelector === `metadata.name=${object.metadata.name}` &&
          (namespace === undefined || namespace === object.metadata.namespace)
        return [...objects.values()].filter(matches).map(project)
      },
      create: async (object: KubeObject) => client.create(stored(object)),
      patch: async (...[ref, patch, options]: Parameters<typeof client.patch>) => {
        if (ref.kind === appParent.kind) this.patches.push(patch)
        const before = [...objects.values()].find(({ metadata }) => metadata.uid === ref.uid)
        const answer = await client.patch(ref, stored(patch as KubeObject), options)
        if (!answer || canonical(before?.spec) === canonical(answer.spec)) return answer
        const generation = asNumber(answer.metadata.generation) + 1
        return this.api.put({ ...answer, metadata: { ...answer.metadata, generation } })
      },
    } as unknown as KubeClient
  }
}

function stored<T extends object>(object: T): T {
  const { stringData, data, ...rest } = object as T & { stringData?: object; data?: object }
  if (!stringData && !data) return object
  const coded = Object.entries(stringData ?? {}).map(([key, value]) => [
    key,
    Buffer.from(String(value)).toString('base64'),
  ])
  return { ...rest, data: { ...data, ...Object.fromEntries(coded) } } as unknown as T
}

export const caller = (username: string, ...groups: string[]): Pick<Identity, 'username' | 'groups'> => ({
  ...{ username, groups: groups.map(name => ({ name })) },
})
export const user = (username: string, ...groups: string[]): Asker => ({
  caller: caller(username, ...groups),
  audience: 'user',
})
export const ann = user('ann', 'physics')
export const eve = user('eve', 'others')
export const root: Asker = { caller: caller('root'), audience: 'admin' }
