/** The routes of activity: half of the users have labs, on nodes of KWOK, which no rule ever stops. */
import { labNames } from '../../src/labs/names.ts'
import { asked, makeLabDemo, spawnLab } from '../demo/lab.ts'
import { createKubectl } from '../kube/kubectl.ts'
import { setupStack, startStack } from '../stack/stack.ts'
import { rates, type SetupScene } from './scene.ts'

const choice = { realNode: 'never', kwok: 1 } as const
const administrator = 'admin'
/** KWOK's addresses lead nowhere, so every look fails. */
const idle = {
  ...{ enabled: true, checkPeriodSeconds: 2, restPeriodSeconds: 2, probeTimeoutSeconds: 1 },
  rules: [{ name: 'all', idleTimeoutSeconds: 86_400 }],
}

export const setupIdleScene: SetupScene = async (progress, signal) => {
  const tools = await setupStack({ ...choice, audit: false }, progress, signal)
  return async options => {
    const users = options.users + 1
    const overrides = { idle, api: { rates } }
    const stack = await startStack({ ...choice, ...options, tools, users, overrides })
    const { [administrator]: admin, ...others } = stack.users
    const kubectl = createKubectl(tools, stack.cluster.kubeconfig, stack.cluster.stateDir)
    const names = Object.keys(others)
    const withLabs = names.slice(0, Math.ceil(names.length / 2))
    const common = { url: stack.url, users: stack.users, kubectl, json: true, signal }
    const spawn = (username: string) => spawnLab({ ...makeLabDemo({ ...common, username }), show: () => {} }, asked)
    await progress.part('labs', () => Promise.all(withLabs.map(spawn)))
    const tokenOf = async (username: string) => {
      const { namespace, lab } = labNames('nublado', username)
      const path = 'jsonpath={.data.activity-token}'
      return Buffer.from(await kubectl(['get', 'secret', lab, '-n', namespace, '-o', path]), 'base64').toString()
    }
    const tokens = (of: readonly string[], token: (name: string) => Promise<string>) =>
      Promise.all(of.map(async name => [name, await token(name)] as const)).then(Object.fromEntries)
    return {
      document: `${stack.url}/nublado/spawner/v1/openapi.json`,
      paths: '^/activity/',
      replicas: stack.replicas,
      // Streams of activity do not end.
      timeoutSeconds: 3,
      people: {
        admin: admin!.token,
        users: await tokens(names, async name => others[name]!.token),
        labs: await tokens(withLabs, tokenOf),
      },
    }
  }
}
