// Vets a version of Kubernetes: a cluster of its own with the components of tenants and of apps, and `skylab vet` on it:
//   npm run vet -- --help
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { stringify } from 'yaml'
import { startOwnBox } from '../test/kit/cluster/own-box.ts'
import { eventually } from '../test/kit/cluster/world.ts'
import { TenantsAdmin } from '../test/kit/tenants/admin.ts'
import { appsObjects } from './kube/apps.ts'
import { tenantsObjects } from './kube/tenants.ts'
import { runCommand, UsageError } from './process/program.ts'
import { kubernetesVersion } from './setup/versions.ts'

const usage = `usage: npm run vet -- [--against FILE] [--write FILE]

Compares what ${kubernetesVersion} gives to users of tenants with what was vetted. SKYLAB_KUBERNETES=v1.35.4 chooses another
version, which is built once. --against compares with a file; --write records the state.
Exit codes: those of skylab vet.
`
const root = fileURLToPath(new URL('..', import.meta.url))

function parse(args: readonly string[]): readonly string[] {
  try {
    const files = { against: { type: 'string' }, write: { type: 'string' } } as const
    const { values } = parseArgs({ args: [...args], options: files })
    return Object.entries(values).flatMap(([name, file]) => [`--${name}`, resolve(file)])
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

await runCommand({
  usage,
  parse,
  run: args =>
    startOwnBox(async ({ run, cluster }) => {
      // An older version does not know all kinds of policies, and no role is one.
      const objects = [...(await tenantsObjects()), ...(await appsObjects())].filter(
        ({ kind }) => !kind.includes('AdmissionPolicy'),
      )
      await cluster.apply(objects.map(object => JSON.stringify(object)).join('\n---\n'))
      const admin = new TenantsAdmin(cluster.kubeconfig)
      // The cluster's own controller gathers the rights of a role.
      await eventually('roles are aggregated', async () => {
        const { body } = await admin.kube.request('GET', '/apis/rbac.authorization.k8s.io/v1/clusterroles/admin')
        return JSON.stringify(body.rules).includes('phapplications')
      })
      admin.kube.close()
      const config = join(run.stateDir, 'vet.yaml')
      writeFileSync(config, stringify({ run: ['tenants'], kubernetes: { kubeconfig: cluster.kubeconfig } }))
      const command = ['src/main.ts', 'vet', '--config', config, ...args]
      const { status } = spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit' })
      await run.close()
      return status ?? 1
    }),
})
