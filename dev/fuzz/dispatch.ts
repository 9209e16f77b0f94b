/**
 * The API of containers and that of operators: users with containers that run, wait and have ended. The machines are processes of
 * this host without isolation, so nothing that was made up may run: from the first request on, no machine comes up.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DispatchClient, type SeenContainer, type SeenMachine } from '../dispatch/client.ts'
import { setupDispatch, startDispatch } from '../dispatch/site.ts'
import { waitUntil } from '../process/api-client.ts'
import { setup } from '../setup/setup.ts'
import { startBalancer } from '../stack/haproxy.ts'
import { rates, type SetupScene } from './scene.ts'

const administrator = 'admin'
const limitMs = 60_000
const longest = 'sleep 86400'

/** The cloud has it, and it may yet run something. */
const isComing = ({ instance, idle_behavior }: SeenMachine) => instance !== '' && idle_behavior !== 'drain'

export const setupDispatchScene: SetupScene = async (progress, signal) => {
  const tools = await setup(['balancer'], progress, signal)
  await setupDispatch(progress, signal)
  return async ({ stateDir, replicas, users: count }) => {
    const boots = join(stateDir, 'boots')
    writeFileSync(boots, '')
    const overrides = {
      api: { rates },
      // A machine that is there gets nothing more, and one that is made stays as it is.
      cloud: { BootProbeCommand: `test -e ${boots}`, TimeoutBooting: '24h' },
    }
    const site = await startDispatch({ stateDir, replicas, users: count + 1, progress, signal, overrides })
    const { [administrator]: admin, ...others } = site.users
    const owners = Object.keys(others)
    const client = new DispatchClient(site, signal)
    const submit = (script: string, index: number) =>
      client.submit({ command: ['sh', '-c', script], vcpus: 1, by: owners[index % owners.length]! }, index)
    const until = (what: string, look: () => Promise<boolean>) => waitUntil(look, { what, limitMs, signal })
    const containers = await progress.part('containers', async () => {
      const first = await Promise.all([longest, longest, 'echo done', 'exit 3'].map(submit))
      const isUnderWay = ({ state }: SeenContainer) => state === 'Running' || state === 'Complete'
      await until('containers that run', async () => (await client.all()).filter(isUnderWay).length === first.length)
      rmSync(boots)
      await Promise.all((await client.machines()).map(({ instance }) => client.manage('drain', instance)))
      await until('the end of idle machines', async () => (await client.machines()).length === 2)
      const last = await Promise.all(['true', 'true', 'true'].map(submit))
      await until('machines that never come up', async () => (await client.machines()).some(isComing))
      return [...first, ...last]
    })
    const seen = await client.all()
    const owner = Object.fromEntries(seen.map(each => [each.uuid, each.owner]))
    const instances = (await client.machines()).filter(isComing)
    const balancer = await startBalancer({ stateDir, program: tools.program('haproxy'), replicas: site.replicas })
    return {
      document: `${balancer.url}/dispatch/v1/openapi.json`,
      replicas: site.replicas,
      // Events and output of what runs do not end.
      timeoutSeconds: 3,
      people: {
        admin: admin!.token,
        users: Object.fromEntries(owners.map(name => [name, others[name]!.token])),
        operator: site.managementToken,
        containers: Object.fromEntries(containers.map(uuid => [uuid, owner[uuid]!])),
        ended: seen.find(({ state }) => state === 'Complete')!.uuid,
        instances: instances.map(({ instance }) => instance),
      },
    }
  }
}
