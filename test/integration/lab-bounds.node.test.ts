/** Labs on a real kubelet try to read foreign data and to fill the disk; their image sets another home. */
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, type TestContext, test } from 'vitest'
import { writeLayout } from '../../dev/image/layout.ts'
import { copyPrograms } from '../../dev/image/programs.ts'
import { pushLayout } from '../../dev/image/push.ts'
import { run } from '../../dev/process/command.ts'
import { eventually } from '../kit/cluster/world.ts'
import { defaultOptions } from '../kit/fleet/client.ts'
import { type Fleet, startFleet } from '../kit/fleet/fleet.ts'
import { type RealRegistry, startDockerRegistry } from '../kit/images/docker-registry.ts'
import { testBed } from '../kit/testbed.ts'

const repository = 'team/other-home'
const mebibyte = 2 ** 20
/** The kubelet checks folders every few seconds, containers every ten, and evicts every ten. */
const evictionLimitMs = 120_000
/** The first pulls the image. */
const startLimitMs = 90_000

/** An image with a HOME of its own, and a folder that all users can write to, as many images have. */
async function pushImage(registry: RealRegistry): Promise<string> {
  const [rootfs, layout] = ['rootfs', 'layout'].map(name => join(registry.stateDir, name)) as [string, string]
  const programs = ['cat', 'env', 'head', 'ls', 'sleep'].map(name => [name, `/bin/${name}`])
  await copyPrograms(rootfs, { ...Object.fromEntries(programs), sh: '/bin/sh' })
  await mkdir(join(rootfs, 'scratch'))
  await chmod(join(rootfs, 'scratch'), 0o777)
  await writeLayout({ rootfs, out: layout, name: 'lab', config: { Env: ['PATH=/bin', 'HOME=/home/jovyan'] } })
  await pushLayout({ layout, registry: registry.address, repository, tags: ['latest'] })
  return `${registry.address}/${repository}:latest`
}

async function setTheScene(context: TestContext): Promise<Fleet> {
  const registry = await startDockerRegistry()
  context.onTestFinished(() => registry.stop())
  const image = await pushImage(registry)
  const size = { limits: { cpu: 1, memory: '256Mi', storage: 64 * mebibyte }, requests: { cpu: 0.01, memory: '16Mi' } }
  return startFleet(context, {
    replicas: 1,
    config: {
      images: {
        registry: registry.address,
        docker: { repository },
        recommendedTag: 'latest',
        prepull: { enabled: false },
      },
      lab: {
        command: ['/bin/sh', '-c', 'exec sleep 1000000'],
        startupProbe: 'none',
        sizes: { small: size, medium: size, large: size },
        provisioning: {
          image,
          command: ['/bin/sh', '-c', '[ "$HOME" = "$SKYLAB_HOME" ] || { echo "$HOME"; exit 1; }'],
        },
      },
    },
  })
}

async function makeLab(fleet: Fleet) {
  const user = fleet.user()
  await user.create(defaultOptions, { env: { HOME: '/home/of-the-request' } })
  const { outcome, errors } = await user.follow({ limitMs: startLimitMs })
  expect(outcome, errors.join('\n')).toBe('complete')
  const { kubectl, kubeconfig } = testBed()
  const exec = ['--kubeconfig', kubeconfig, 'exec', '-n', fleet.namespace(user.username), `nb-${user.username}`, '--']
  return { user, inside: (...command: string[]) => run(kubectl, [...exec, ...command]) }
}

type Lab = Awaited<ReturnType<typeof makeLab>>

async function expectEvicted({ user }: Lab): Promise<void> {
  const failed = async () => (await user.userStatus()).body.status === 'failed'
  await eventually('the lab is evicted', failed, evictionLimitMs)
  const { body } = await user.userStatus()
  expect(body.events.map(({ data }) => data).join('\n')).toMatch(/its node evicted it \(.*(exceed|limit)/)
}

/** Each fills one place, or two that together exceed the limit. */
const fillings: Record<string, string> = {
  'a folder': 'head -c 100000000 /dev/zero > /tmp/full',
  'two folders': 'head -c 40000000 /dev/zero > /tmp/half; head -c 40000000 /dev/zero > $HOME/half',
  'the container itself': 'head -c 100000000 /dev/zero > /scratch/full',
}

test('a lab has its home whatever the image says, no token, and a bounded disk', async context => {
  const fleet = await setTheScene(context)
  const { user, inside } = await makeLab(fleet)
  const labs = await Promise.all(Object.values(fillings).map(() => makeLab(fleet)))
  const home = `/home/${user.username}`
  expect((await inside('env')).split('\n')).toContain(`HOME=${home}`)
  expect(await inside('sh', '-c', 'cd && echo $PWD')).toBe(`${home}\n`)

  expect(await inside('ls', '/etc/skylab/secrets')).toBe('')
  await expect(inside('cat', '/etc/skylab/secrets/token')).rejects.toThrow(/No such file/)
  const secret = await fleet.world.kube.get('Secret', `nb-${user.username}`, fleet.namespace(user.username))
  expect(secret).not.toHaveProperty('data')

  const commands = Object.values(fillings)
  // The eviction also ends the command that fills the disk.
  await Promise.all(labs.map((lab, index) => lab.inside('sh', '-c', commands[index]!).catch(() => {})))
  await Promise.all(labs.map(expectEvicted))
  expect((await user.userStatus()).body.status).toBe('running')
}, 360_000)
