/** Cases that need a real kubelet: a lab that runs, one that ends itself, and one that cannot start. */
import { expect, test } from 'vitest'
import { askLab } from '../../dev/demo/lab.ts'
import { run } from '../../dev/process/command.ts'
import { eventually } from '../kit/cluster/world.ts'
import { startFleet } from '../kit/fleet/fleet.ts'
import { testBed } from '../kit/testbed.ts'

const kubectl = (args: string[]) => run(testBed().kubectl, ['--kubeconfig', testBed().kubeconfig, ...args])

/** Prints the files that Python would compile at each start of a lab, by their bytecode files. */
const compiledEachTime = `
import sys, jupyterlab.labapp
for cached in [getattr(module, '__cached__', None) for module in sys.modules.values()]:
    if cached is not None and open(cached, 'rb').read(8)[4] != 1:
        print(cached)
`

test('a lab answers when its events say so, and removes itself when it is shut down from within', async context => {
  const fleet = await startFleet(context, { replicas: 2 })
  const user = fleet.user()
  await user.create()
  const { outcome, events } = await user.follow()
  expect(outcome).toBe('complete')
  const texts = events.map(({ data }) => data).join('\n')
  expect(texts).toMatch(/Successfully assigned/)
  expect(texts).toMatch(/Started container|Container started/)
  const { body } = await user.userStatus()
  expect(await askLab(kubectl, body.internal_url!)).toBe(200)
  const inside = ['exec', '-n', fleet.namespace(user.username), `nb-${user.username}`, '--']
  expect(await kubectl([...inside, 'python3', '-c', compiledEachTime])).toBe('')
  const whoami = await kubectl([...inside, 'id', '-u'])
  expect(whoami.trim()).toBe(String(body.uid))
  // The container's end also ends the command that caused it.
  await kubectl([...inside, 'jupyter', 'server', 'stop', '8888']).catch(() => {})
  await eventually('the lab ends', async () => (await user.userStatus()).body.status !== 'running', 90_000)
  expect((await user.follow()).outcome).toBe('complete')
  expect((await user.userStatus()).status).toBe(404)
  expect(await fleet.world.leftOf(user.username)).toEqual([])
}, 240_000)

test('a lab that crashes before it has started fails at once, with exit code and last lines', async context => {
  const command = ['sh', '-c', 'echo there is no such kernel >&2; exit 3']
  const fleet = await startFleet(context, { replicas: 1, config: { lab: { command } } })
  const user = fleet.user()
  await user.create()
  const { outcome, errors } = await user.follow()
  expect(outcome).toBe('failed')
  expect(errors.at(-1)).toMatch(/stopped before it had started: exit code 3\nthere is no such kernel/)
  expect((await user.userStatus()).body).toMatchObject({ status: 'failed', pod: 'missing' })
}, 240_000)
