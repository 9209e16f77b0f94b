/**
 * A release leaves as they are the objects that an older one recorded, and those that stand while the Deployment and the definition
 * of the resource are exchanged. Nothing but a status is written, and nobody's rights change. An API server that starts again
 * changes not even statuses.
 */
import { dirname } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tenantsObjects } from '../../../dev/kube/tenants.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { besideVariable } from '../../kit/attack/result.ts'
import { controlApiServer } from '../../kit/cluster/api-server.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { builtProgram } from '../../kit/program/program.ts'
import { type Release, TenantsDeployment } from '../../kit/tenants/deployment.ts'
import { lnamespace, siteTenants, user } from '../../kit/tenants/objects.ts'
import { administrator, isTenant, makeAgain, tenantObjects, written } from '../../kit/tenants/past/cluster.ts'
import { readTenantsPast, tenantPasts } from '../../kit/tenants/past/files.ts'
import { grants, isAllowed, questionsAbout } from '../../kit/tenants/past/grants.ts'
import { pastInstallation } from '../../kit/tenants/past/record.ts'
import { change, TenantsSite } from '../../kit/tenants/site.ts'
import { testBed } from '../../kit/testbed.ts'

const isFull = process.env.SKYLAB_FAULTS === 'all'
/** Tenants that are upgraded. */
const size = isFull ? 200 : 20
/** To make the tenants takes longer than what other tests wait for. */
const startLimitMs = 150_000
const definitionName = 'lnamespaces.gial.lblw.dev'

const present = (): Release => builtProgram(testBed().stateDir)
/** Another build of the program, `dist/main.mjs` in a checkout of its commit; undefined for the present one. */
const beside = process.env[besideVariable]
const older = (): Release => (beside === undefined ? present() : { program: beside })

describe.for(tenantPasts())('the past %s', name => {
  let site: TenantsSite
  let deployment: TenantsDeployment | undefined
  beforeAll(async () => {
    site = await TenantsSite.start(pastInstallation)
  })
  afterAll(async () => {
    await deployment?.stop()
    await site.close()
  })

  test('is left as it is by a new release, but for statuses, with every right as recorded', async () => {
    const past = readTenantsPast(name)
    await makeAgain(site, past.objects)
    const before = await tenantObjects(site.kube)
    const tenants = before.filter(isTenant)
    expect(tenants.length).toBeGreaterThan(5)
    await eventually('the rights of the past', async () => sameAs(await grants(site.kube, tenants), past.granted))
    deployment = await TenantsDeployment.start(site, { installation: pastInstallation, release: present() })
    const sudoers = before.filter(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name.includes(':self:'))
    await deployment.looked(tenants.length, sudoers.length)
    const after = await tenantObjects(site.kube)
    expect(written(after)).toEqual(written(before))
    expect(reasonsOf(after)).toEqual(reasonsOf(before))
    expect(await grants(site.kube, tenants)).toEqual(past.granted)
  })
})

describe(`${size} tenants`, () => {
  let site: TenantsSite
  let deployment: TenantsDeployment
  beforeAll(async () => {
    site = await TenantsSite.start()
    await define(site, await definitions.older())
    deployment = await TenantsDeployment.start(site, { installation: 'skylab', release: older() })
    for (let index = 0; index < size; index++) await site.create(lnamespace(`tenant-${index}`, specOf(index)))
    const areReady = async () => {
      const reasons = Object.values(reasonsOf(await site.tenants()))
      return reasons.length === size && reasons.every(reason => reason === 'Ready')
    }
    await eventually('all are ready', areReady, startLimitMs)
  }, 2 * startLimitMs)
  afterAll(async () => {
    await deployment?.stop()
    await site.close()
  })

  test('keep their objects and every right while they are upgraded, downgraded and upgraded again', async () => {
    const before = await tenantObjects(site.kube)
    const tenants = before.filter(isTenant)
    const rights = await rightsIn(site, tenants)
    expect(rights.length).toBeGreaterThan(size * 4)
    const losses = new Losses(site, tenants.slice(0, 12), rights)
    const [seconds, writes] = [[] as number[], [] as number[]]
    for (const [definition, release] of [
      [await definitions.present(), present()],
      [await definitions.older(), older()],
      [await definitions.present(), present()],
    ] as const) {
      const begunMs = performance.now()
      await define(site, definition)
      await deployment.roll(release)
      await deployment.looked(size, size)
      seconds.push(Math.round((performance.now() - begunMs) / 100) / 10)
      const after = await tenantObjects(site.kube)
      expect(written(after)).toEqual(written(before))
      writes.push(await deployment.writes())
      expect(await rightsIn(site, tenants)).toEqual(rights)
    }
    const lost = await losses.end()
    const objects = before.length - tenants.length
    const figures = {
      tenants: size,
      objects,
      writes,
      rights: rights.length,
      asked: losses.asked,
      lost: lost.length,
    }
    const line = { test: 'upgrade of tenants', ...figures, seconds, older: beside === undefined ? 'present' : 'beside' }
    process.stdout.write(`RESULT ${JSON.stringify(line)}\n`)
    expect([lost, writes]).toEqual([[], [0, 0, 0]])
    expect(losses.asked).toBeGreaterThan(rights.length)
  })

  test('keep their statuses while the API server is killed and starts again', async () => {
    const before = versionsOf(await tenantObjects(site.kube))
    await controlApiServer(site.cluster.stateDir, site.kube).restart()
    const edited = 'tenant-0'
    await site.must(administrator, change(lnamespace(edited), { spec: { users: [user('user-late')] } }))
    await eventually('the edit counts', async () => readyGeneration(await tenantObjects(site.kube), edited) > 1)
    await deployment.looked(size, size)
    const after = versionsOf(await tenantObjects(site.kube))
    expect({ ...after, [edited]: '' }).toEqual({ ...before, [edited]: '' })
  })
})

const specOf = (index: number) => ({
  users: [user(`user-${index}`)],
  managers: [user(`manager-${index}`)],
  sudoers: [user(`sudoer-${index}`)],
  platform: { quota: { pods: 5 }, limits: { max: { cpu: '2' } } },
})

/** Neighbours are enough for the questions whose answer is no: all people by all tenants are 600,000 questions. */
async function rightsIn({ kube }: TenantsSite, tenants: readonly KubeObject[]): Promise<readonly string[]> {
  const all: string[] = []
  for (let index = 0; index < tenants.length; index += 2)
    all.push(...(await grants(kube, tenants.slice(index, index + 2))))
  return all
}

const sameAs = (a: readonly string[], b: readonly string[]) => JSON.stringify(a) === JSON.stringify(b)

/** Why each tenant is ready, or is not. */
const reasonsOf = (objects: readonly KubeObject[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    objects.filter(isTenant).map(({ metadata, status }) => {
      const { conditions = [] } = (status ?? {}) as { conditions?: readonly { type: string; reason: string }[] }
      return [metadata.name, conditions.find(({ type }) => type === 'Ready')?.reason]
    }),
  )

const definitions = {
  present: async (): Promise<KubeObject> =>
    (await tenantsObjects({ tenants: siteTenants })).find(({ metadata }) => metadata.name === definitionName)!,
  /** That of the older checkout; else as recorded, without a field and columns that a release before could have lacked. */
  older: async (): Promise<KubeObject> => {
    if (beside !== undefined) {
      const objects = await tenantsObjects(undefined, dirname(dirname(beside)))
      return objects.find(({ metadata }) => metadata.name === definitionName)!
    }
    const { definition } = readTenantsPast(tenantPasts()[0]!)
    const copy = structuredClone(definition) as KubeObject & { readonly spec: { readonly versions: [Version] } }
    const [version] = copy.spec.versions
    delete version.schema.openAPIV3Schema.properties.spec.properties.billing
    version.additionalPrinterColumns = version.additionalPrinterColumns.filter(({ name }) => name === 'Age')
    return copy
  },
}

/** The versions of the LNamespaces, which change with each status. */
const versionsOf = (objects: readonly KubeObject[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(objects.filter(isTenant).map(({ metadata }) => [metadata.name, metadata.resourceVersion]))

/** The last generation of an LNamespace that is as declared; 0 if it is not. */
function readyGeneration(objects: readonly KubeObject[], name: string): number {
  const { metadata, status } = objects.find(object => isTenant(object) && object.metadata.name === name)!
  const { conditions = [] } = (status ?? {}) as { conditions?: readonly Condition[] }
  const ready = conditions.find(({ type }) => type === 'Ready')
  return ready?.status === 'True' && ready.observedGeneration === metadata.generation ? ready.observedGeneration : 0
}

interface Condition {
  readonly type: string
  readonly status: string
  readonly observedGeneration: number
}

interface Version {
  additionalPrinterColumns: readonly { readonly name: string }[]
  readonly schema: { readonly openAPIV3Schema: { readonly properties: { readonly spec: Schema } } }
}

interface Schema {
  readonly properties: Record<string, unknown>
}

/** Applies a definition; resolves when the API server serves by it. */
async function define({ cluster, kube }: TenantsSite, definition: KubeObject): Promise<void> {
  await cluster.apply(JSON.stringify(definition))
  const columns = (definition as unknown as { spec: { versions: [Version] } }).spec.versions[0].additionalPrinterColumns
  const accept = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
  await eventually('the definition is served', async () => {
    const { body } = await kube.request('GET', '/apis/gial.lblw.dev/v1beta1/lnamespaces?limit=1', undefined, accept)
    // The name is a column by itself.
    return body.columnDefinitions?.length === columns.length + 1
  })
}

/** Asks for rights that stand, one after another, without a pause. */
class Losses {
  asked = 0
  readonly #stopping = new AbortController()
  readonly #lost: Promise<readonly string[]>

  constructor(site: TenantsSite, tenants: readonly KubeObject[], rights: readonly string[]) {
    const standing = new Set(rights)
    const questions = questionsAbout(tenants).filter(({ words }) => standing.has(words))
    const ask = async () => {
      const lost: string[] = []
      while (!this.#stopping.signal.aborted) {
        const question = questions[this.asked++ % questions.length]!
        if (!(await isAllowed(site.kube, question))) lost.push(question.words)
      }
      return lost
    }
    this.#lost = ask()
    this.#lost.catch(() => {})
  }

  /** @returns the rights that were missing for a moment */
  end(): Promise<readonly string[]> {
    this.#stopping.abort()
    return this.#lost
  }
}
