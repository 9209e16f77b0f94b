/** `npm run image -- --pin` writes a real registry's digests, and kustomize uses them. No cluster. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { writeLayout } from '../../dev/image/layout.ts'
import { pinFiles } from '../../dev/image/pin.ts'
import { pushLayout } from '../../dev/image/push.ts'
import { kustomize } from '../../dev/kube/kustomize.ts'
import { findProgram } from '../../dev/process/command.ts'
import { stopProcess } from '../../dev/process/process.ts'
import { builtProgram } from '../../dev/setup/go.ts'
import { startRegistry } from '../../dev/stack/image.ts'

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'skylab-pin-'))
  onTestFinished(() => rm(path, { recursive: true }))
  return path
}

/** Debian's docker-registry with one image `some/redis:7.2`; returns its address and the image's digest. */
async function registryWithImage(stateDir: string): Promise<{ registry: string; digest: string }> {
  const registry = (await startRegistry(stateDir))!
  onTestFinished(async () => void (await stopProcess(stateDir, 'registry', 0)))
  await mkdir(join(stateDir, 'rootfs'))
  const layout = join(stateDir, 'layout')
  await writeLayout({ rootfs: join(stateDir, 'rootfs'), out: layout, name: 'redis', config: {} })
  return { registry, digest: await pushLayout({ layout, registry, repository: 'some/redis', tags: ['7.2'] }) }
}

test.skipIf(!findProgram('docker-registry'))('kustomize names an image by tag and digest after --pin', async () => {
  const stateDir = await folder()
  const { registry, digest } = await registryWithImage(stateDir)
  const site = join(stateDir, 'site')
  await mkdir(site)
  const pod = 'apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: redis}]}\n'
  await writeFile(join(site, 'pod.yaml'), pod)
  const file = join(site, 'kustomization.yaml')
  const images = `images:\n  - name: redis\n    newName: ${registry}/some/redis\n    newTag: "7.2"\n`
  await writeFile(file, `resources: [pod.yaml]\n${images}`)
  await pinFiles({ files: [file], say: () => {}, dockerConfig: stateDir })
  expect(await readFile(file, 'utf8')).toBe(`resources: [pod.yaml]\n${images}    digest: ${digest}\n`)
  const rendered = await kustomize(builtProgram('kubectl'), site)
  expect(rendered).toContain(`image: ${registry}/some/redis:7.2@${digest}\n`)
})
