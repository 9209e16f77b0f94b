/** The overlay of the demo in the cluster, as it is written for a run and built by kustomize. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { makeCertificates, type OverlayPlan, writeOverlay } from '../../../dev/in-cluster/overlay.ts'
import { kustomize } from '../../../dev/kube/kustomize.ts'
import { makeUsers } from '../../../dev/stack/config.ts'
import { testBed } from '../testbed.ts'
import type { Manifest } from './manifests.ts'

const { kubectl, stateDir } = testBed()

/** A reference of an image of ours in the registry of such a demo. */
export const demoReference = (image: string): string => `127.0.0.1:5000/skylab/${image}@sha256:${'a'.repeat(64)}`

/** @returns its folder, and its objects */
export async function buildDemoOverlay(
  wings: Pick<OverlayPlan, 'tenants' | 'notebooks' | 'apps'>,
): Promise<{ readonly folder: string; readonly objects: readonly Manifest[] }> {
  const run = mkdtempSync(join(stateDir, 'in-cluster-'))
  const authority = join(run, 'authority')
  writeFileSync(authority, 'PEM')
  const [controller, redis, coredns] = ['controller', 'redis', 'coredns'].map(demoReference)
  const { folder } = await writeOverlay({
    folder: join(run, 'overlay'),
    images: { controller: controller!, redis: redis!, coredns: coredns! },
    registry: { address: '10.244.0.1:5001', authority },
    labs: { docker: { repository: 'some/lab' }, recommendedTag: 'recommended' },
    users: makeUsers(3),
    certificates: await makeCertificates(join(run, 'pki')),
    ...wings,
  })
  return { folder, objects: parseAllDocuments(await kustomize(kubectl, folder)).map(each => each.toJS()) }
}
